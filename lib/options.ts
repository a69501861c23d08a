/**
 * Checks what a caller passes: unknown names, wrong types and units are refused before anything is sent.
 *
 * @internal
 */
import { z } from "zod/v4";
import { InvalidOptionError } from "./errors.js";
import type { Logger } from "./logging.js";

/** Names that callers confuse with the right ones. */
const HINTS: Record<string, string> = {
  timeout: "timeoutSeconds",
  timeoutMs: "timeoutSeconds",
  timeout_ms: "timeoutSeconds",
  timeoutS: "timeoutSeconds",
  ttl: "ttlSeconds",
  ttlMs: "ttlSeconds",
  onOutput: "onStdout",
  abortSignal: "signal",
  baseUrl: "apiUrl",
  base_url: "apiUrl",
  api_url: "apiUrl",
  api_key: "apiKey",
  envs: "env",
  workdir: "cwd",
};

/** An AbortSignal. */
export const signal = z.custom<AbortSignal>(isSignal, "must be an AbortSignal").optional();
/** A function. */
export const callback = z
  .custom<(value: never) => unknown>((value) => typeof value === "function", "must be a function")
  .optional();
/** Text that is not empty. */
export const text = z.string().min(1);
/** Names and texts. */
export const strings = z.record(z.string().min(1), z.string());
const seconds = z.number().positive().optional();
const flag = z.boolean().optional();

/** Longest time limit that fits every server, in seconds. */
const MAX_SECONDS = 31_536_000;

const timeoutSeconds = z.number().positive().max(MAX_SECONDS).optional();
const ttl = z
  .number()
  .int()
  .nonnegative()
  .max(MAX_SECONDS * 10)
  .optional();

/** Milliseconds that fit a timer. */
export const timeoutMs = z.number().int().positive().max(2_147_483_647).optional();

/** Options that every call has. */
export const callOptions = z.strictObject({ signal, timeoutMs });

/** Options of a transfer. */
export const transferOptions = callOptions.extend({ onProgress: callback });

/** Options of `walk`. */
export const walkOptions = callOptions.extend({ onError: callback });

/** Options of `copy`. */
export const copyOptions = callOptions.extend({ recursive: flag });

/** Options of the client. */
export const clientOptions = z.strictObject({
  apiUrl: z.string().nullish(),
  apiKey: z.string().nullish(),
  timeoutMs,
  logger: z
    .custom<Logger>((value) => typeof value === "object" && value !== null, "must be an object such as `console`")
    .optional(),
  onRetry: callback,
  maxCreateRetrySeconds: z.number().nonnegative().max(MAX_SECONDS).optional(),
});

const count = z.number().int().positive().optional();

/** What a sandbox may use. */
const sandboxLimits = z.strictObject({
  cpu: z.number().positive().optional(),
  memoryMb: count,
  processes: count,
  diskGb: count,
  openFiles: count,
  cellSeconds: count,
  outputBytes: count,
});

/** Options of `create`, in both spellings of 0.9.0. */
export const createOptions = z.strictObject({
  template: text.optional(),
  cpu: z.number().optional(),
  memoryMb: z.number().optional(),
  memory_mb: z.number().optional(),
  fromSnapshot: text.optional(),
  from_snapshot: text.optional(),
  ttlSeconds: ttl,
  ttl_seconds: ttl,
  persistent: flag,
  metadata: strings.optional(),
  volumes: z.array(z.strictObject({ name: text, readOnly: flag, read_only: flag })).optional(),
  limits: sandboxLimits.optional(),
  signal,
  timeoutMs,
});

/** Options of `exec`. */
export const execOptions = z.strictObject({
  timeoutSeconds,
  timeout_seconds: seconds,
  check: flag,
  env: strings.optional(),
  cwd: text.startsWith("/", "must be an absolute path").optional(),
  user: text.optional(),
  signal,
});

/** Options of `execStream`. */
export const execStreamOptions = execOptions.extend({ onStdout: callback, onStderr: callback });

/** Options of `commands.start`. */
export const startOptions = execOptions.omit({ check: true }).extend({ maxOutputBytes: z.number().int().positive().optional() });

/** Options of `createCodeContext`. */
export const codeContextOptions = z.strictObject({
  language: text.optional(),
  cwd: text.startsWith("/", "must be an absolute path").optional(),
  env: strings.optional(),
  fresh: flag,
  signal,
  timeoutMs,
});

/** Options of `CodeContext.runCode`. */
export const runCodeOptions = z.strictObject({
  timeoutSeconds,
  timeout_seconds: seconds,
  env: strings.optional(),
  maxOutputBytes: z.number().int().positive().optional(),
  onStdout: callback,
  onStderr: callback,
  onResult: callback,
  onError: callback,
  signal,
});

/** Returns `value` if it fits; else says which option of what is wrong. */
export function checked<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const outcome = schema.safeParse(value === undefined ? {} : value);
  if (outcome.success) return outcome.data;
  const problems = outcome.error.issues.map(described);
  throw new InvalidOptionError(`${what}: ${problems.join("; ")}`);
}

/** Returns `value` if it is a string that is not empty. */
export function checkedText(value: unknown, what: string): string {
  if (typeof value !== "string") throw new InvalidOptionError(`${what} must be a string, not: \`${kindOf(value)}\``);
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

function described(issue: z.core.$ZodIssue): string {
  const path = issue.path.join(".");
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => unknownOption(path ? `${path}.${key}` : key)).join("; ");
  return path ? `option \`${path}\`: ${issue.message}` : issue.message;
}

function unknownOption(key: string): string {
  const hint = HINTS[key];
  return hint ? `unknown option \`${key}\`; did you mean \`${hint}\`` : `unknown option: \`${key}\``;
}

/** By its shape: signals of other realms and polyfills are as good. */
function isSignal(value: unknown): boolean {
  const signal = value as AbortSignal | null;
  return typeof signal?.aborted === "boolean" && typeof signal.addEventListener === "function";
}

function kindOf(value: unknown): string {
  return value === null ? "null" : typeof value;
}
