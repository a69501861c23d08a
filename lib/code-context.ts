/**
 * A code context: a kernel that keeps its variables between cells.
 */
import { call, orAborted, throwIfAborted } from "./call.js";
import type { CallOptions } from "./call-options.js";
import type { Client } from "./client.js";
import { NotFoundError, PandaStackError, SandboxGoneError, SandboxTimeout } from "./errors.js";
import { collectExecution, Execution, type ExecutionCallbacks } from "./execution.js";
import { callOptions, checked, checkedText, runCodeOptions } from "./options.js";
import type { RunCode } from "./wire/index.js";

/** Options of {@link Sandbox.createCodeContext}. */
export interface CodeContextOptions {
  /** `python`. */
  language?: string;
  /** Working directory, an absolute path; local engine only. */
  cwd?: string;
  /** Environment of the kernel; local engine only. */
  env?: Record<string, string>;
  /** True: a new kernel even where one was inherited from a snapshot; local engine only. */
  fresh?: boolean;
  /** Aborts the call. */
  signal?: AbortSignal;
  /** Time limit of the call in milliseconds. Default: at least 60 000. */
  timeoutMs?: number;
}

/** Options of {@link CodeContext.runCode}. */
export interface RunCodeOptions extends ExecutionCallbacks {
  /** Time limit in seconds; the cell is interrupted then and its variables are kept. Default: the server's. */
  timeoutSeconds?: number;
  /** Environment for this cell only; local engine only. */
  env?: Record<string, string>;
  /** Most bytes of each of stdout and stderr to keep: head and tail. Default 16 MiB. */
  maxOutputBytes?: number;
  /** Aborts the call, which interrupts the cell. */
  signal?: AbortSignal;
  /**
   * Time limit of the whole call in milliseconds, waiting for earlier cells not included; the cell is interrupted then. Default: none but
   * the server's; `timeoutSeconds` is the better limit, because it is the server that keeps it.
   */
  timeoutMs?: number;
}

/** A kernel that keeps its variables between cells. Cells run one after the other, in the order of the calls. */
export class CodeContext {
  /** Id of the context. */
  readonly id: string;
  /** `python`. */
  readonly language: string;
  readonly #client: Client;
  readonly #sandbox: string;
  #last: Promise<unknown> = Promise.resolve();

  constructor(client: Client, sandboxId: string, id: string, language = "python") {
    this.#client = client;
    this.#sandbox = sandboxId;
    this.id = id;
    this.language = language;
  }

  /**
   * Runs a cell. An exception in it is a result, with the traceback in `error`.
   *
   * @example
   * ```ts
   * const execution = await context.runCode(codeFromTheModel, { timeoutSeconds: 60 });
   * const answer = execution.error ?? execution.text ?? execution.stdout;
   * await execution.results.find((result) => result.png)?.save("out/chart.png");
   * ```
   * @throws {SandboxTimeout} if the cell reached its time limit, {@link InterruptedError} if the stream was cut, {@link AbortError} if
   * the signal aborted it; each with what the cell had shown in `execution`.
   */
  async runCode(code: string, options?: RunCodeOptions): Promise<Execution> {
    checkedText(code, "code");
    const { signal, timeoutMs, maxOutputBytes, ...rest } = checked(runCodeOptions, options, "runCode");
    const cell = cellOf(code, maxOutputBytes, rest);
    return this.#inOrder(signal, async () => {
      try {
        const limits = { signal, timeoutMs };
        const stream = await call(limits, (cancel) => this.#client.native.runCode(this.#sandbox, this.id, cell, cancel));
        return await collectExecution(stream, rest as ExecutionCallbacks, signal, maxOutputBytes);
      } catch (error) {
        throw withExecution(error);
      }
    });
  }

  /** Interrupts the running cell; variables are kept. */
  async interrupt(options?: CallOptions): Promise<void> {
    const limits = checked(callOptions, options, "interrupt");
    await call(limits, (cancel) => this.#client.native.interruptCodeContext(this.#sandbox, this.id, cancel));
  }

  /** Replaces the kernel; variables are lost. */
  async restart(options?: CallOptions): Promise<void> {
    const limits = checked(callOptions, options, "restart");
    await call(limits, (cancel) => this.#client.native.restartCodeContext(this.#sandbox, this.id, cancel));
  }

  /** Ends the kernel. No error if it or its sandbox is gone already. */
  async close(options?: CallOptions): Promise<void> {
    const limits = checked(callOptions, options, "close");
    try {
      await call(limits, (cancel) => this.#client.native.deleteCodeContext(this.#sandbox, this.id, cancel));
    } catch (error) {
      if (!(error instanceof NotFoundError || error instanceof SandboxGoneError)) throw error;
    }
  }

  /** Ends the kernel at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Runs `work` once all earlier work has ended. A caller that gives up while waiting does not disturb the order. */
  async #inOrder<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    throwIfAborted(signal);
    const earlier = this.#last;
    let done = () => {};
    const own = new Promise<void>((resolve) => {
      done = resolve;
    });
    this.#last = earlier.then(() => own);
    try {
      await orAborted(earlier, signal);
      return await work();
    } finally {
      done();
    }
  }
}

function cellOf(code: string, maxOutputBytes: number | undefined, options: object): RunCode {
  const { timeoutSeconds, timeout_seconds = timeoutSeconds, env } = options as RunCodeOptions & { timeout_seconds?: number };
  return {
    code,
    // Rounded up: 0 would mean the server's default.
    ...(timeout_seconds === undefined ? {} : { timeout_ms: Math.ceil(timeout_seconds * 1000) }),
    ...(env === undefined ? {} : { env }),
    ...(maxOutputBytes === undefined ? {} : { max_output_bytes: maxOutputBytes }),
  };
}

/** Whatever a run rejects with has an `execution`, so that callers need not tell the cases apart. */
function withExecution(error: unknown): unknown {
  if (!(error instanceof PandaStackError)) return error;
  if (!error.execution) {
    error.execution = Execution.of({ stdout: error.stdout ?? "", stderr: error.stderr ?? "" });
  }
  if (error instanceof SandboxTimeout) error.execution.status = "timed_out";
  error.stdout ??= error.execution.stdout;
  error.stderr ??= error.execution.stderr;
  return error;
}
