import type { CreateSandbox } from "../../lib/agents/contract.js";
import type { RunCodeOptions } from "../../lib/code-context.js";
import type { Execution } from "../../lib/execution.js";
import type { Sandbox, SandboxCreateOptions } from "../../lib/sandbox.js";

/** What a scripted cell does. */
export type Cell = (options: RunCodeOptions, context: FakeContext) => Promise<Parts>;

/** Parts of an execution that matter to a test. */
export type Parts = Omit<Partial<Execution>, "results"> & { results?: { data: Record<string, string>; isMain?: boolean }[] };

/** An execution of which only what matters is given. */
export function execution(parts: Parts = {}): Execution {
  return { stdout: "", stderr: "", results: [], ...parts } as unknown as Execution;
}

/** An error as the SDK throws it. */
export function failure(code: string, fields: Record<string, unknown> = {}): Error {
  return Object.assign(new Error(`failed: ${code}`), { code }, fields);
}

/** A promise that others settle. */
export function deferred<T = void>() {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

/** A cell that ends only when its signal is aborted. */
export const endless: Cell = ({ signal }) =>
  new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(failure("aborted", { cause: signal.reason })), { once: true });
  });

export class FakeContext {
  closed = 0;
  readonly codes: string[] = [];

  constructor(
    readonly id: string,
    readonly sandbox: FakeSandbox,
  ) {}

  async runCode(code: string, options: RunCodeOptions = {}): Promise<Execution> {
    this.sandbox.world.checkAlive(this);
    this.codes.push(code);
    this.sandbox.world.started.push(code);
    const cell = this.sandbox.world.cells[code];
    if (!cell) throw new Error(`no such cell in the script: \`${code}\``);
    return execution({ executionCount: this.codes.length, ...(await cell(options, this)) });
  }

  async close(): Promise<void> {
    this.closed += 1;
  }
}

export class FakeSandbox {
  killed = 0;
  readonly contexts: FakeContext[] = [];

  constructor(
    readonly id: string,
    readonly world: FakeWorld,
  ) {}

  async createCodeContext(): Promise<FakeContext> {
    if (this.world.gone.has(this)) throw failure("not_found", { statusCode: 404 });
    const context = new FakeContext(`${this.id}-c${this.contexts.length + 1}`, this);
    this.contexts.push(context);
    return context;
  }

  async kill(): Promise<void> {
    this.killed += 1;
    if (this.world.gone.has(this)) throw failure("not_found", { statusCode: 404 });
  }
}

/** A server with scripted cells, on which sandboxes can vanish. */
export class FakeWorld {
  readonly sandboxes: FakeSandbox[] = [];
  /** Sandboxes and kernels the server no longer knows. */
  readonly gone = new Set<FakeSandbox | FakeContext>();
  /** Codes in the order in which they started. */
  readonly started: string[] = [];
  readonly creations: SandboxCreateOptions[] = [];
  /** Set: the next creation fails with it. */
  nextCreationError: Error | undefined;
  /** Set: creations wait for it. */
  creationGate: Promise<void> = Promise.resolve();

  constructor(readonly cells: Record<string, Cell> = {}) {}

  /** Makes a sandbox. */
  readonly make = async ({ signal, ...options }: SandboxCreateOptions = {}): Promise<FakeSandbox> => {
    this.creations.push(options);
    const error = this.nextCreationError;
    this.nextCreationError = undefined;
    await this.creationGate;
    if (error) throw error;
    signal?.throwIfAborted();
    const sandbox = new FakeSandbox(`s${this.sandboxes.length + 1}`, this);
    this.sandboxes.push(sandbox);
    return sandbox;
  };

  /** The same for those who want one of the SDK. */
  readonly create: CreateSandbox = async (options) => (await this.make(options)) as unknown as Sandbox;

  checkAlive(context: FakeContext): void {
    if (this.gone.has(context) || this.gone.has(context.sandbox)) throw failure("not_found", { statusCode: 404 });
  }
}
