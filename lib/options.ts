/**
 * Checks what a caller passes: unknown names, wrong types and units are refused before anything is sent.
 *
 * @internal
 */
import { InvalidOptionError } from "./errors.js";
import type { Logger } from "./logging.js";
import { kindOf } from "./problem.js";
import { bytes, milliseconds, seconds, wholeSeconds } from "./quantity.js";
import { schema } from "./schema.js";

export { checked } from "./schema.js";

/** An AbortSignal. */
export const signal = schema((z) => z.custom<AbortSignal>(isSignal, "must be an AbortSignal").optional());
/** A function. */
export const callback = schema((z) =>
  z.custom<(value: never) => unknown>((value) => typeof value === "function", "must be a function").optional(),
);
/** Text that is not empty. */
export const text = schema((z) => z.string().min(1));
/** Names and texts. */
export const strings = schema((z) => z.record(z.string().min(1), z.string()).optional());
/** True or false. */
export const flag = schema((z) => z.boolean().optional());

/** Longest time that a server may be told, in seconds: a year. */
const YEAR = 31_536_000;

/** Longest time limit in seconds: eight hours. What is longer is a number of milliseconds by mistake. */
const LONGEST = 28_800;

/** Longest time that fits a timer, in milliseconds. */
const LONGEST_TIMER = 2_147_483_647;

const timeoutSeconds = seconds({ moreThan: 0, most: LONGEST });
const ttl = wholeSeconds({ least: 0, most: YEAR * 10 });

/** Milliseconds that fit a timer. */
export const timeoutMs = milliseconds({ moreThan: 0, most: LONGEST_TIMER });

const folder = schema((z) => z.string().startsWith("/", "must be an absolute path").optional());

/** Options that every call has. */
export const callOptions = schema((z) => z.strictObject({ signal: signal(), timeoutMs: timeoutMs() }));

/** Options of a transfer. */
export const transferOptions = schema(() => callOptions().extend({ onProgress: callback() }));

/** Options of `walk`. */
export const walkOptions = schema(() => callOptions().extend({ onError: callback(), followSymlinks: flag() }));

/** Options of `copy`. */
export const copyOptions = schema(() => callOptions().extend({ recursive: flag() }));

/** Options of the client. */
export const clientOptions = schema((z) =>
  z.strictObject({
    apiUrl: z.string().nullish(),
    apiKey: z.string().nullish(),
    timeoutMs: timeoutMs(),
    logger: z
      .custom<Logger>((value) => typeof value === "object" && value !== null, "must be an object such as `console`")
      .optional(),
    onRetry: callback(),
    maxCreateRetrySeconds: seconds({ least: 0, most: LONGEST })(),
  }),
);

/** What a sandbox may use. */
const sandboxLimits = schema((z) => {
  const count = z.number().int().positive().optional();
  return z.strictObject({
    cpu: z.number().positive().optional(),
    memoryMb: count,
    processes: count,
    diskGb: count,
    openFiles: count,
    cellSeconds: count,
    outputBytes: count,
  });
});

/** What a sandbox may reach. The server knows what an entry may be. */
export const egress = schema((z) => {
  const entries = z.array(text()).max(256).optional();
  return z.union(
    [z.enum(["all", "none"]), z.strictObject({ allow: entries, deny: entries })],
    "must be `all`, `none`, or an object with the lists `allow` and `deny`",
  );
});

/** Secrets by name. A wrong value is not repeated. */
const secrets = schema((z) =>
  z.record(
    z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "must be the name of an environment variable"),
    z.strictObject({
      value: z.string().regex(/^[ -~]{1,8192}$/, "must be 1 to 8192 printable ASCII characters"),
      hosts: z.array(text()).min(1).max(64),
    }),
  ),
);

/** Options of `events`. */
export const eventsOptions = schema((z) => callOptions().extend({ tail: z.number().int().optional() }));

/** Options of `create`, in both spellings of 0.9.0. */
export const createOptions = schema((z) =>
  callOptions().extend({
    template: text().optional(),
    cpu: z.number().optional(),
    memoryMb: z.number().optional(),
    memory_mb: z.number().optional(),
    fromSnapshot: text().optional(),
    from_snapshot: text().optional(),
    ttlSeconds: ttl(),
    ttl_seconds: ttl(),
    persistent: flag(),
    metadata: strings(),
    volumes: z.array(z.strictObject({ name: text(), readOnly: flag(), read_only: flag() })).optional(),
    limits: sandboxLimits().optional(),
    egress: egress().optional(),
    secrets: secrets().optional(),
  }),
);

/** Options of commands and cells. */
const runOptions = schema(() =>
  callOptions().extend({
    timeoutSeconds: timeoutSeconds(),
    timeout_seconds: timeoutSeconds(),
    env: strings(),
    maxOutputBytes: bytes({ moreThan: 0 })(),
  }),
);

/** Options of `exec`. */
export const execOptions = schema((z) =>
  runOptions().extend({ check: flag(), cwd: folder(), user: text().optional(), stream: z.literal(false).optional() }),
);

/** Options of `execStream`. */
export const execStreamOptions = schema(() =>
  runOptions().extend({ check: flag(), cwd: folder(), user: text().optional(), onStdout: callback(), onStderr: callback() }),
);

/** Options of `commands.start`. */
export const startOptions = schema((z) =>
  runOptions().extend({
    cwd: folder(),
    user: text().optional(),
    onStdout: callback(),
    onStderr: callback(),
    stream: z.literal(true).optional(),
  }),
);

/** Options of `createCodeContext`. */
export const codeContextOptions = schema(() =>
  callOptions().extend({ language: text().optional(), cwd: folder(), env: strings(), fresh: flag() }),
);

/** Options of `CodeContext.runCode`. */
export const runCodeOptions = schema(() =>
  runOptions().extend({ onStdout: callback(), onStderr: callback(), onResult: callback(), onError: callback() }),
);

/** Returns `value` if it is a string that is not empty. */
export function checkedText(value: unknown, what: string): string {
  if (typeof value !== "string") throw new InvalidOptionError(`${what} must be a string, not ${kindOf(value)}`);
  if (value === "") throw new InvalidOptionError(`${what} must not be empty`);
  return value;
}

/** Returns the path if it is absolute. */
export function checkedPath(value: unknown): string {
  const path = checkedText(value, "a path in a sandbox");
  if (!path.startsWith("/")) throw new InvalidOptionError(`a path in a sandbox must be absolute: \`${path}\``);
  if (path.includes("\0")) throw new InvalidOptionError("a path in a sandbox must not contain a NUL character");
  return path;
}

/** By its shape: signals of other realms and polyfills are as good. */
function isSignal(value: unknown): boolean {
  const signal = value as AbortSignal | null;
  return typeof signal?.aborted === "boolean" && typeof signal.addEventListener === "function";
}
