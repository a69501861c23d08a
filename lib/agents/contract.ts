/**
 * What the agent tools need of the SDK, and nothing more. The classes of the SDK fit it; a scripted stand-in fits it too.
 */

/** One displayed object of a cell. */
export interface ResultLike {
  /** MIME type → content; images are base64. */
  readonly data: Readonly<Record<string, unknown>>;
  /** True for the value of the cell. */
  readonly isMain?: boolean;
}

/** What a cell printed, displayed and raised. */
export interface ExecutionLike {
  readonly stdout: string;
  readonly stderr: string;
  readonly results: readonly ResultLike[];
  /** Value of the cell, else the last result with text. */
  readonly text?: string | undefined;
  /** Formatted traceback, if the cell raised. */
  readonly error?: string | undefined;
  readonly errorInfo?: { readonly name: string; readonly value: string; readonly line?: number | undefined } | undefined;
  readonly exitCode?: number | undefined;
  readonly executionCount?: number | undefined;
  /** Wall-clock time in milliseconds. */
  readonly duration_ms?: number | undefined;
  /** True if the sandbox kept only head and tail of the output. */
  readonly truncated?: boolean | undefined;
  /** True if the kernel had to be replaced: variables are lost. */
  readonly restarted?: boolean | undefined;
}

/** Options of one cell. */
export interface RunCellOptions {
  onStdout?: (text: string) => void | Promise<void>;
  onStderr?: (text: string) => void | Promise<void>;
  signal?: AbortSignal;
  timeoutSeconds?: number;
  maxOutputBytes?: number;
}

/** A persistent kernel. */
export interface CodeContextLike {
  readonly id: string;
  runCode(code: string, options?: RunCellOptions): Promise<ExecutionLike>;
  close(): Promise<void>;
}

/** A sandbox. */
export interface SandboxLike {
  readonly id: string;
  createCodeContext(language?: string): Promise<CodeContextLike>;
  kill(): Promise<void>;
}

/** What an error of the SDK tells. */
export interface FailureLike {
  readonly code?: unknown;
  readonly statusCode?: unknown;
  readonly stdout?: unknown;
  readonly stderr?: unknown;
  /** What a cell had shown before it was cut short. */
  readonly execution?: ExecutionLike | undefined;
}

/** Reads the fields of an SDK error; a value that is no object has none of them. */
export function failureOf(error: unknown): FailureLike {
  return typeof error === 'object' && error !== null ? (error as FailureLike) : {};
}
