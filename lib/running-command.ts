/**
 * A command that is running.
 */
import { onAbort } from "./abort.js";
import { aborted, orAborted, throwIfAborted, translated } from "./call.js";
import { AbortError, InterruptedError, InvalidOptionError, NotSupportedError, PandaStackError } from "./errors.js";
import { EventLoop } from "./event-loop.js";
import type { ExecResult, OutputCallbacks } from "./exec.js";
import type { NativeExecStream } from "./native.js";
import { OutputBuffer } from "./output.js";
import type { ExecEvent } from "./wire/index.js";

/** A piece of output, not aligned to lines. */
export interface CommandOutput {
  /** Which output. */
  readonly type: "stdout" | "stderr";
  /** As text; bytes that are not UTF-8 are U+FFFD in it. */
  readonly text: string;
  /** As it was written. Servers other than the local engine send text only: these are its bytes then. */
  readonly bytes: Buffer;
}

/** The end of a command; always the last event. */
export interface CommandExit {
  /** Always `exit`. */
  readonly type: "exit";
  /** Exit code; 128 + N after signal N. */
  readonly exitCode: number;
}

/** What a running command does. */
export type CommandEvent = CommandOutput | CommandExit;

/** @internal What a running command is made with. */
export interface RunningSettings {
  signal?: AbortSignal | undefined;
  maxOutputBytes?: number | undefined;
  onStdout?: OutputCallbacks["onStdout"] | undefined;
  onStderr?: OutputCallbacks["onStderr"] | undefined;
}

/** Most events of a batch. */
const BATCH = 64;

/**
 * A command that is running. Its events can be read once, in order: by a loop over it, by {@link RunningCommand.text} or
 * {@link RunningCommand.bytes}, by callbacks, or by {@link RunningCommand.wait}. Whoever reads slowly slows the command. Leaving the loop,
 * `kill` and the end of an `await using` block end it. Its standard input is empty.
 *
 * @example
 * ```ts
 * await using command = await sandbox.commands.start("npm run dev");
 * for await (const event of command) {
 *   if (event.type === "stdout" && event.text.includes("ready")) break;
 * }
 * ```
 */
export class RunningCommand implements AsyncIterable<CommandEvent>, AsyncDisposable {
  readonly #stdout: OutputBuffer;
  readonly #stderr: OutputBuffer;
  readonly #events: AsyncGenerator<CommandEvent, void, undefined>;
  readonly #ended: Promise<ExecResult>;
  #end: { resolve: (result: ExecResult) => void; reject: (error: unknown) => void } = { resolve: () => {}, reject: () => {} };
  #reader: "loop" | "wait" | undefined;
  #isKilled = false;
  #stopListening = () => {};

  /** @internal */
  constructor(
    private readonly stream: NativeExecStream,
    private readonly settings: RunningSettings,
  ) {
    this.#stdout = new OutputBuffer(settings.maxOutputBytes);
    this.#stderr = new OutputBuffer(settings.maxOutputBytes);
    this.#ended = new Promise((resolve, reject) => {
      this.#end = { resolve, reject };
    });
    // Whoever reads the events sees the failure there.
    this.#ended.catch(() => undefined);
    this.#events = this.#read();
    const { signal } = settings;
    // From the start: a command whose events nobody reads has to end too.
    this.#stopListening = onAbort(signal, () => this.#abort());
    if (signal?.aborted) this.#abort();
    if (settings.onStdout || settings.onStderr) this.#readToTheEnd();
  }

  /**
   * The events, in order. They can be read once.
   *
   * @throws {InvalidOptionError} if callbacks or `wait` read them already.
   */
  [Symbol.asyncIterator](): AsyncGenerator<CommandEvent, void, undefined> {
    return this.#loop((event) => event);
  }

  /** One of its outputs as text, piece by piece; the other is kept for `wait`. A loop over the events. */
  text(output: "stdout" | "stderr" = "stdout"): AsyncGenerator<string, void, undefined> {
    return this.#loop((event) => (event.type === output ? event.text : undefined));
  }

  /** One of its outputs as it was written, piece by piece; the other is kept for `wait`. A loop over the events. */
  bytes(output: "stdout" | "stderr" = "stdout"): AsyncGenerator<Buffer, void, undefined> {
    return this.#loop((event) => (event.type === output ? event.bytes : undefined));
  }

  /**
   * Waits for the end. What nobody reads is collected all the same.
   *
   * @throws {InterruptedError} if the stream was cut, {@link AbortError} after `kill`, {@link TimeoutError} or {@link SandboxTimeout} after
   * a time limit; each with the output so far.
   */
  async wait(): Promise<ExecResult> {
    if (!this.#reader) this.#readToTheEnd();
    return this.#ended;
  }

  /**
   * Ends the command and all that it started: the connection is closed, and the local engine sends what ran on it SIGTERM and, to what is
   * left after a moment, SIGKILL.
   *
   * @throws {NotSupportedError} for another signal: no server can send one. `sandbox.exec("pkill -INT …")` can.
   */
  kill(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): void {
    if (signal !== "SIGTERM" && signal !== "SIGKILL") {
      throw new NotSupportedError(
        `a running command cannot be sent the signal \`${String(signal)}\`; use \`pkill\` in the sandbox`,
      );
    }
    this.#isKilled = true;
    this.#close(new AbortError("the command was killed"));
  }

  /** The same as `kill`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
  }

  #abort(): void {
    const { signal } = this.settings;
    if (signal) this.#close(aborted(signal));
  }

  /** Closes the connection, which ends the command if it still runs. */
  #close(reason: AbortError): void {
    this.#stopListening();
    this.stream.close();
    this.#end.reject(this.#failure(reason));
  }

  #loop<T>(pick: (event: CommandEvent) => T | undefined): EventLoop<CommandEvent, T> {
    if (this.#reader === "wait") {
      throw new InvalidOptionError("the events of a command can be read once: by a loop, by callbacks, or by `wait`");
    }
    this.#reader = "loop";
    return new EventLoop(this.#events, pick, () => this.kill());
  }

  #readToTheEnd(): void {
    this.#reader = "wait";
    const drain = async () => {
      for await (const _ of this.#events);
    };
    // `wait` rejects with it.
    drain().catch(() => undefined);
  }

  async *#read(): AsyncGenerator<CommandEvent, void, undefined> {
    try {
      for (let batch = await this.#next(); batch.length > 0; batch = await this.#next()) {
        for (const event of batch) yield await this.#taken(event);
      }
      this.#end.reject(this.#failure(new InterruptedError("the stream ended without an exit code")));
    } catch (error) {
      const failure = this.#failure(error);
      this.#end.reject(failure);
      throw failure;
    } finally {
      this.kill();
    }
  }

  async #next(): Promise<ExecEvent[]> {
    const { signal } = this.settings;
    throwIfAborted(signal);
    try {
      return await this.stream.nextBatch(BATCH);
    } catch (error) {
      if (signal?.aborted) throw aborted(signal);
      throw this.#isKilled ? new AbortError("the command was killed") : translated(error);
    }
  }

  async #taken(event: ExecEvent): Promise<CommandEvent> {
    if (event.type === "exit") {
      this.#end.resolve(this.#result(event.exit_code, event.duration_ms));
      return { type: "exit", exitCode: event.exit_code };
    }
    const { onStdout, onStderr, signal } = this.settings;
    const [kept, callback] = event.type === "stdout" ? [this.#stdout, onStdout] : [this.#stderr, onStderr];
    kept.push(event.text);
    await orAborted(callback?.(event.text), signal);
    return new Output(event.type, event.text, event.base64 ?? undefined);
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

/** Most pieces are text, and bytes are made only of what somebody asks for. */
class Output implements CommandOutput {
  readonly #base64: string | undefined;

  constructor(
    readonly type: "stdout" | "stderr",
    readonly text: string,
    base64: string | undefined,
  ) {
    this.#base64 = base64;
  }

  get bytes(): Buffer {
    return this.#base64 === undefined ? Buffer.from(this.text) : Buffer.from(this.#base64, "base64");
  }
}
