/**
 * A command that is running.
 */
import { aborted, throwIfAborted, translated } from "./call.js";
import { AbortError, InterruptedError, PandaStackError } from "./errors.js";
import type { ExecResult } from "./exec.js";
import type { NativeExecStream } from "./native.js";
import { OutputBuffer } from "./output.js";
import type { ExecEvent } from "./wire/index.js";

/** What a running command does. */
export type CommandEvent =
  | {
      /** Standard output. */
      type: "stdout";
      /** A piece of it, not aligned to lines. */
      text: string;
    }
  | {
      /** Standard error. */
      type: "stderr";
      /** A piece of it, not aligned to lines. */
      text: string;
    }
  | {
      /** The end; always the last event. */
      type: "exit";
      /** Exit code of the command. */
      exitCode: number;
    };

/** Most events of a batch. */
const BATCH = 64;

/**
 * A command that is running. Its events can be read once, in order; whoever reads slowly slows the command. Leaving the loop, `kill`
 * and the end of an `await using` block end the command.
 */
export class RunningCommand implements AsyncIterable<CommandEvent>, AsyncDisposable {
  readonly #stdout: OutputBuffer;
  readonly #stderr: OutputBuffer;
  readonly #events: AsyncGenerator<CommandEvent, void, undefined>;
  readonly #ended: Promise<ExecResult>;
  #end: { resolve: (result: ExecResult) => void; reject: (error: unknown) => void } = { resolve: () => {}, reject: () => {} };
  #isRead = false;
  #isKilled = false;

  /** @internal */
  constructor(
    private readonly stream: NativeExecStream,
    private readonly signal: AbortSignal | undefined,
    maxOutputBytes: number | undefined,
  ) {
    this.#stdout = new OutputBuffer(maxOutputBytes);
    this.#stderr = new OutputBuffer(maxOutputBytes);
    this.#ended = new Promise((resolve, reject) => {
      this.#end = { resolve, reject };
    });
    // Whoever reads the events sees the failure there.
    this.#ended.catch(() => undefined);
    this.#events = this.#read();
  }

  /** The events, in order. They can be read once. */
  [Symbol.asyncIterator](): AsyncGenerator<CommandEvent, void, undefined> {
    this.#isRead = true;
    return this.#events;
  }

  /**
   * Waits for the end. What nobody reads is collected all the same.
   *
   * @throws {InterruptedError} if the stream was cut, {@link AbortError} after `kill`; both with the output so far.
   */
  async wait(): Promise<ExecResult> {
    if (!this.#isRead) {
      this.#isRead = true;
      void this.#drain();
    }
    return this.#ended;
  }

  /** Ends the command and all that it started: the connection is closed, and the server kills what runs on it. */
  kill(): void {
    this.#isKilled = true;
    this.stream.close();
    this.#end.reject(this.#failure(new AbortError("the command was killed")));
  }

  /** The same as `kill`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
  }

  async #drain(): Promise<void> {
    try {
      for await (const _ of this.#events);
    } catch {
      // `wait` rejects with it.
    }
  }

  async *#read(): AsyncGenerator<CommandEvent, void, undefined> {
    const abort = () => this.stream.close();
    this.signal?.addEventListener("abort", abort, { once: true });
    try {
      for (let batch = await this.#next(); batch.length > 0; batch = await this.#next()) {
        for (const event of batch) yield this.#taken(event);
      }
      this.#end.reject(this.#failure(new InterruptedError("the stream ended without an exit code")));
    } catch (error) {
      const failure = this.#failure(error);
      this.#end.reject(failure);
      throw failure;
    } finally {
      this.signal?.removeEventListener("abort", abort);
      this.kill();
    }
  }

  async #next(): Promise<ExecEvent[]> {
    throwIfAborted(this.signal);
    try {
      return await this.stream.nextBatch(BATCH);
    } catch (error) {
      if (this.signal?.aborted) throw aborted(this.signal);
      throw this.#isKilled ? new AbortError("the command was killed") : translated(error);
    }
  }

  #taken(event: ExecEvent): CommandEvent {
    if (event.type === "exit") {
      this.#end.resolve(this.#result(event.exit_code, event.duration_ms));
      return { type: "exit", exitCode: event.exit_code };
    }
    (event.type === "stdout" ? this.#stdout : this.#stderr).push(event.text);
    return { type: event.type, text: event.text };
  }

  #result(exitCode: number, duration: number | undefined | null): ExecResult {
    const truncated = this.#stdout.truncated || this.#stderr.truncated;
    return {
      stdout: this.#stdout.toString(),
      stderr: this.#stderr.toString(),
      exit_code: exitCode,
      exitCode,
      ...(typeof duration === "number" ? { duration_ms: duration } : {}),
      ...(truncated ? { truncated } : {}),
    };
  }

  #failure(error: unknown): unknown {
    if (error instanceof PandaStackError) {
      error.stdout ||= this.#stdout.toString();
      error.stderr ||= this.#stderr.toString();
    }
    return error;
  }
}
