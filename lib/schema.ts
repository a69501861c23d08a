/**
 * Schemas, made when they are first needed: loading zod takes longer than loading everything else.
 *
 * @internal
 */
import type { z } from "zod/v4";
import { InvalidOptionError } from "./errors.js";
import { problemIn } from "./problem.js";

/** What zod exports. */
type Zod = typeof z;

/** A schema that is made at its first use. */
export type Schema<S> = () => S;

let loaded: Zod | undefined;

/** A schema that `make` makes at its first use. */
export function schema<S>(make: (zod: Zod) => S): Schema<S> {
  let made: S | undefined;
  return () => {
    loaded ??= (require("zod/v4") as typeof import("zod/v4")).z;
    made ??= make(loaded);
    return made;
  };
}

/** Names that callers confuse with the right ones. */
const HINTS: Record<string, string> = {
  timeout: "timeoutSeconds` or `timeoutMs",
  timeout_ms: "timeoutMs",
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

/** Most problems that a message tells. */
const MOST_PROBLEMS = 5;

/** Most characters of a name in a message. */
const MOST_OF_A_NAME = 60;

/** Returns `value` if it fits; else says which option of what is wrong. */
export function checked<T>(schema: Schema<z.ZodType<T>>, value: unknown, what: string): T {
  const outcome = schema().safeParse(value === undefined ? {} : value, { error: problemIn });
  const problems = outcome.success ? contradictions(outcome.data) : outcome.error.issues.flatMap(described);
  if (outcome.success && problems.length === 0) return outcome.data;
  const more = problems.length > MOST_PROBLEMS ? [`and ${problems.length - MOST_PROBLEMS} more`] : [];
  throw new InvalidOptionError(`${what}: ${[...problems.slice(0, MOST_PROBLEMS), ...more].join("; ")}`);
}

function described(issue: z.core.$ZodIssue): string[] {
  const path = issue.path.join(".");
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => unknownOption(path ? `${path}.${key}` : key));
  return [path ? `option \`${shortened(path)}\`: ${issue.message}` : issue.message];
}

function unknownOption(key: string): string {
  const hint = Object.hasOwn(HINTS, key) ? HINTS[key] : undefined;
  return hint ? `unknown option \`${key}\`; did you mean \`${hint}\`` : `unknown option: \`${shortened(key)}\``;
}

function shortened(name: string): string {
  return name.length > MOST_OF_A_NAME ? `${name.slice(0, MOST_OF_A_NAME)}…` : name;
}

/** Options that 0.9.0 took in two spellings and that were given different values in both. */
function contradictions(options: unknown): string[] {
  const { volumes } = Object(options);
  const nested = Array.isArray(volumes) ? volumes.flatMap((volume) => contradictions(volume)) : [];
  const fields = Object(options) as Record<string, unknown>;
  const twice = Object.keys(fields).filter((name) => {
    const other = camelCase(name);
    return other !== name && fields[name] !== undefined && fields[other] !== undefined && fields[name] !== fields[other];
  });
  return [...twice.map((name) => twoValues(name, fields)), ...nested];
}

function twoValues(name: string, fields: Record<string, unknown>): string {
  const other = camelCase(name);
  return `option \`${other}\` is also given as \`${name}\`, with another value: \`${fields[other]}\` and \`${fields[name]}\``;
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
