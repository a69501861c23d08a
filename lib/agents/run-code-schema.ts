/** Input of the tool. */
export interface RunCodeInput {
  /** Source of the cell. */
  code: string;
}

type Issue = { readonly message: string; readonly path?: readonly PropertyKey[] };
type Validated<T> = { readonly value: T; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

/** The part of Standard Schema and Standard JSON Schema that every framework reads. */
export interface StandardInputSchema<T> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: T; readonly output: T } | undefined;
    readonly validate: (value: unknown) => Validated<T>;
    readonly jsonSchema: {
      readonly input: (options: { readonly target: string }) => Record<string, unknown>;
      readonly output: (options: { readonly target: string }) => Record<string, unknown>;
    };
  };
}

/** JSON Schema of {@link RunCodeInput}; a new object each time, because frameworks edit what they get. */
export function runCodeJsonSchema(language: string): Record<string, unknown> {
  return {
    type: "object",
    properties: { code: { type: "string", minLength: 1, description: `Source code to run, in ${language}.` } },
    required: ["code"],
    additionalProperties: false,
  };
}

/** Says what is wrong with an input, or nothing. */
export function inputFault(value: unknown): string | undefined {
  const code = typeof value === "object" && value !== null ? (value as { code?: unknown }).code : undefined;
  if (typeof code !== "string") return `code must be a string, not: \`${code === null ? "null" : typeof code}\``;
  if (code.trim() === "") return "code must not be empty";
  return undefined;
}

/**
 * The input schema of the tool, written by hand.
 *
 * It depends on no schema library, so it cannot clash with the version of zod that a framework brings along.
 */
export function runCodeSchema(language: string): StandardInputSchema<RunCodeInput> {
  const json = () => runCodeJsonSchema(language);
  return {
    "~standard": {
      version: 1,
      vendor: "pandastack",
      validate: (value) => {
        const fault = inputFault(value);
        if (fault !== undefined) return { issues: [{ message: fault, path: ["code"] }] };
        return { value: { code: (value as RunCodeInput).code } };
      },
      jsonSchema: { input: json, output: json },
    },
  };
}
