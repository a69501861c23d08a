import type { CodeContext, RunCodeOptions } from "../code-context.js";
import type { Execution } from "../execution.js";
import type { Sandbox } from "../sandbox.js";
import { CallQueue } from "./call-queue.js";
import { failureOf } from "./contract.js";
import { linkedSignal } from "./linked-signal.js";

/** Said to the model when a new sandbox took the place of one that is gone. */
export const ALL_LOST = "[kernel restarted] all variables and files are lost";
/** Said to the model when only the kernel had to be replaced. */
export const VARIABLES_LOST = "[kernel restarted] all variables are lost; files are kept";

/** How a session gets and gives back what it needs. */
export interface CodeSessionOptions {
  /** Name of the tool, for error texts. */
  name: string;
  /** A sandbox of the caller: used, never killed. */
  sandbox?: Sandbox | undefined;
  /** A kernel of the caller: used, never closed. */
  context?: CodeContext | undefined;
  /** Makes a sandbox when none was given. The signal is aborted when the session closes. */
  createSandbox: (signal: AbortSignal) => Promise<Sandbox>;
  /** Language of the kernel. */
  language: string;
  /** Seconds without a call after which the kernel and our sandbox are given back. Undefined: never. */
  idleSeconds?: number | undefined;
}

/** The tool was used after `close()`. */
export class ClosedError extends Error {
  /** The class, for messages. */
  override readonly name = "ClosedError";
  /** Kind of failure. */
  readonly code = "closed";

  constructor(tool: string) {
    super(`the tool is closed: \`${tool}\`; make a new one with runCodeTool()`);
  }
}

/**
 * One kernel and the sandbox it lives in: made at the first call, shared by all calls, replaced once when it is gone.
 *
 * Calls run one at a time, in order. What is lost on the way is told by {@link CodeSession.takeNotice}, never hidden.
 */
export class CodeSession {
  readonly #options: CodeSessionOptions;
  readonly #queue = new CallQueue();
  readonly #closing = new AbortController();
  #sandbox: Promise<Sandbox> | undefined;
  #context: Promise<CodeContext> | undefined;
  #notice: string | undefined;
  #lastCount = 0;
  #calls = 0;
  #closed: Promise<void> | undefined;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: CodeSessionOptions) {
    this.#options = options;
  }

  /**
   * The sandbox of this session, made if need be; for example to upload files before the first cell.
   *
   * @throws {ClosedError} after `close()`. A failed creation is not remembered: the next call tries again.
   */
  sandbox(): Promise<Sandbox> {
    if (this.#closed) return Promise.reject(this.#closedError());
    if (this.#options.sandbox) return Promise.resolve(this.#options.sandbox);
    if (this.#sandbox) return this.#sandbox;
    const opening = this.#options.createSandbox(this.#closing.signal);
    this.#sandbox = opening;
    opening.catch(() => {
      if (this.#sandbox === opening) this.#sandbox = undefined;
    });
    return opening;
  }

  /** The kernel of this session, made if need be. Throws as {@link CodeSession.sandbox} does. */
  context(): Promise<CodeContext> {
    if (this.#closed) return Promise.reject(this.#closedError());
    if (this.#options.context) return Promise.resolve(this.#options.context);
    if (this.#context) return this.#context;
    const opening = this.sandbox().then((sandbox) => sandbox.createCodeContext(this.#options.language));
    this.#context = opening;
    opening.catch(() => {
      if (this.#context === opening) this.#context = undefined;
    });
    return opening;
  }

  /**
   * Runs one cell when its turn comes.
   *
   * @returns the execution; a Python exception is part of it.
   * @throws what the SDK throws (time limit, cut connection, sandbox gone), the reason of an aborted signal, or
   *   {@link ClosedError}.
   */
  async run(code: string, options: RunCodeOptions = {}): Promise<Execution> {
    if (this.#closed) throw this.#closedError();
    this.#calls += 1;
    clearTimeout(this.#idleTimer);
    const { signal, release } = linkedSignal(options.signal, this.#closing.signal);
    try {
      return await this.#queue.add(() => this.#runCell(code, { ...options, signal }), signal);
    } catch (error) {
      throw this.#closed ? this.#closedError() : error;
    } finally {
      release();
      this.#calls -= 1;
      this.#watchIdle();
    }
  }

  /** What was lost since the last call of this method, in words for the model; undefined if nothing was. */
  takeNotice(): string | undefined {
    const notice = this.#notice;
    this.#notice = undefined;
    return notice;
  }

  /**
   * Cancels the running cell and the waiting ones, closes the kernel, and kills the sandbox if it is ours.
   *
   * Calling it again returns the same promise. Rejects if the sandbox could not be killed.
   */
  close(): Promise<void> {
    this.#closed ??= Promise.resolve().then(() => this.#giveBack());
    clearTimeout(this.#idleTimer);
    this.#closing.abort(this.#closedError());
    return this.#closed;
  }

  async #runCell(code: string, options: RunCodeOptions & { signal: AbortSignal }): Promise<Execution> {
    for (let attempt = 1; ; attempt += 1) {
      const context = await this.#freshContext(options.signal);
      try {
        return this.#counted(await context.runCode(code, options));
      } catch (error) {
        this.#noteRestart(failureOf(error).execution);
        const replaced = this.#letGo(error);
        // What may have run is not run again.
        if (!replaced || !wasRefused(error) || attempt > 1) throw error;
      }
    }
  }

  /** The kernel; when the sandbox that should get one turns out to be gone, a kernel in a new sandbox, once. */
  async #freshContext(signal: AbortSignal): Promise<CodeContext> {
    if (!this.#options.context) await untilAborted(this.sandbox(), signal);
    try {
      return await untilAborted(this.context(), signal);
    } catch (error) {
      if (signal.aborted || !isGone(error) || !this.#forgetSandbox()) throw error;
      return untilAborted(this.context(), signal);
    }
  }

  /** Lets go of what `error` says is gone. False if nothing is, or if it was not ours to replace. */
  #letGo(error: unknown): boolean {
    if (failureOf(error).code === "sandbox_gone") return this.#forgetSandbox();
    return wasRefused(error) && this.#forgetContext();
  }

  #forgetContext(): boolean {
    if (this.#options.context) return false;
    this.#context = undefined;
    this.#lastCount = 0;
    this.#notice = VARIABLES_LOST;
    return true;
  }

  #forgetSandbox(): boolean {
    if (this.#options.sandbox || this.#options.context) return false;
    // It should be gone; if it is not, it is no longer of use.
    this.#sandbox?.then((sandbox) => sandbox.kill()).catch(() => undefined);
    this.#sandbox = undefined;
    this.#forgetContext();
    this.#notice = ALL_LOST;
    return true;
  }

  /** A count that does not grow comes from another kernel process, as after an abort that code did not obey. */
  #counted(execution: Execution): Execution {
    const { executionCount = 0 } = execution;
    if (executionCount > 0 && executionCount <= this.#lastCount) this.#notice ??= VARIABLES_LOST;
    this.#lastCount = executionCount;
    this.#noteRestart(execution);
    return execution;
  }

  #noteRestart(execution: Execution | undefined): void {
    if (!execution?.restarted) return;
    this.#lastCount = 0;
    this.#notice ??= VARIABLES_LOST;
  }

  #watchIdle(): void {
    const { idleSeconds } = this.#options;
    if (idleSeconds === undefined || this.#closed || this.#calls > 0 || !this.#context) return;
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => void this.#queue.add(() => this.#rest()), idleSeconds * 1000);
    this.#idleTimer.unref();
  }

  async #rest(): Promise<void> {
    const ours = !this.#options.sandbox && !this.#options.context;
    // A sandbox that cannot be killed now ends at its time limit.
    await this.#giveBack().catch(() => undefined);
    this.#lastCount = 0;
    if (!this.#options.context) this.#notice = ours ? ALL_LOST : VARIABLES_LOST;
  }

  async #giveBack(): Promise<void> {
    const [context, sandbox] = [this.#context, this.#sandbox];
    this.#context = undefined;
    this.#sandbox = undefined;
    const openSandbox = await sandbox?.catch(() => undefined);
    const openContext = await context?.catch(() => undefined);
    await openContext?.close();
    await openSandbox?.kill().catch((error: unknown) => {
      if (!isGone(error)) throw error;
    });
  }

  #closedError(): ClosedError {
    return new ClosedError(this.#options.name);
  }
}

/** True if the server turned the call down because what it names is gone: nothing has run. */
function wasRefused(error: unknown): boolean {
  const { code, statusCode } = failureOf(error);
  return code === "not_found" || statusCode === 404 || statusCode === 410;
}

function isGone(error: unknown): boolean {
  return wasRefused(error) || failureOf(error).code === "sandbox_gone";
}

/** Waits for `promise`, which goes on for others, until the signal is aborted. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
