/**
 * What is wrong with an option, in words, where its schema does not say it itself.
 *
 * @internal
 */
import type { z } from "zod/v4";

/** What zod expects, as a sentence needs it. */
const NOUNS: Record<string, string> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "`true` or `false`",
  array: "an array",
  object: "an object",
  record: "an object",
  function: "a function",
};

/** The problem, without the value where it may be a secret. Undefined leaves the words to zod. */
export function problemIn(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type": {
      const noun = NOUNS[issue.expected] ?? issue.expected;
      return issue.input === undefined ? `is missing: must be ${noun}` : `must be ${noun}, not ${kindOf(issue.input)}`;
    }
    case "too_small":
      return `must be at least ${issue.minimum}${unitOf(issue.origin)}${given(issue.input)}`;
    case "too_big":
      return `must be at most ${issue.maximum}${unitOf(issue.origin)}${given(issue.input)}`;
    case "invalid_value":
      return `must be ${issue.values.map((value) => `\`${String(value)}\``).join(" or ")}`;
    default:
      return undefined;
  }
}

/** What kind of value it is; numbers as they are, and nothing that may be a secret. */
export function kindOf(value: unknown): string {
  if (value === null) return "`null`";
  if (typeof value === "number") return `\`${value}\``;
  return Array.isArray(value) ? "an array" : (NOUNS[typeof value] ?? `a ${typeof value}`);
}

function unitOf(origin: string): string {
  return origin === "string" ? " characters long" : origin === "array" ? " items long" : "";
}

function given(value: unknown): string {
  return typeof value === "number" ? `, not: \`${value}\`` : "";
}
