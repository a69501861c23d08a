import type { Client, ClientConfig } from "../client.js";
import type { Execution } from "../execution.js";
import type { Sandbox, SandboxCreateOptions } from "../sandbox.js";

/** Makes the sandbox of a tool, with the client of its options if there is one. */
export type CreateSandbox = (options: SandboxCreateOptions, client: Client | ClientConfig | undefined) => Promise<Sandbox>;

/** What an error of the SDK tells, as far as the tools need it. */
interface Failure {
  readonly code?: unknown;
  readonly statusCode?: unknown;
  /** What a cell had shown; only on errors of a cell. */
  readonly execution?: Execution;
}

/**
 * Reads the fields of an error; a value that is no object has none of them.
 *
 * By field, not by class: a caller's sandbox may come from another copy of the package.
 */
export function failureOf(error: unknown): Failure {
  return typeof error === "object" && error !== null ? error : {};
}
