/**
 * What a cell did: collected from the events of its run, in the one loop that also serves callbacks.
 */
import { PandaStackError, SandboxTimeout } from "./errors.js";
import { OutputBuffer } from "./output.js";
import { Result } from "./result.js";
import { eachEvent, type NativeStream } from "./stream.js";
import type { ExecutionAnswer, ExecutionEvent, ExecutionStatus } from "./wire/index.js";

/** Parts of what a cell raised. */
export interface ExecutionErrorInfo {
  /** Class of the exception. */
  name: string;
  /** Its message. */
  value: string;
  /** Formatted traceback, piece by piece, without escape codes. */
  traceback: string[];
  /** Line of the cell, from 1, where it is known. */
  line?: number;
}

/**
 * What is called while a cell runs. Each call is awaited before the next; one that throws ends the cell. Cells of a context queue: a
 * callback that waits for another cell of the same context waits for ever.
 */
export interface ExecutionCallbacks {
  /** A piece of standard output, not cut inside a character, not aligned to lines. */
  onStdout?: ((text: string) => unknown) | undefined;
  /** A piece of standard error. */
  onStderr?: ((text: string) => unknown) | undefined;
  /** A displayed object, also when it replaces an earlier one. */
  onResult?: ((result: Result) => unknown) | undefined;
  /** What the cell raised. */
  onError?: ((error: ExecutionErrorInfo) => unknown) | undefined;
}

/** What a cell showed and how it ended. */
export class Execution {
  /** Displayed objects in order. */
  results: Result[] = [];
  /** Standard output. */
  stdout = "";
  /** Standard error. */
  stderr = "";
  /** Formatted traceback without escape codes, if the cell raised. Give it to the model. */
  error?: string;
  /** Parts of the error. */
  errorInfo?: ExecutionErrorInfo;
  /** 0, 1 after an exception, or the argument of `sys.exit`. */
  exit_code = 0;
  /** The same number. */
  exitCode = 0;
  /** Wall-clock time in milliseconds. */
  duration_ms?: number;
  /** Number of the cell in its context, from 1. */
  executionCount?: number;
  /** How the cell ended. */
  status: ExecutionStatus = "ok";
  /** True if the kernel had to be replaced: variables are lost. */
  restarted = false;
  /** True if only head and tail of the output were kept. */
  truncated = false;
  /** Value of the cell, else the last displayed text. */
  text?: string;
  /** The last displayed PNG, as base64. */
  png?: string;

  /** @internal From an answer in one piece. */
  static of(answer: Partial<ExecutionAnswer>): Execution {
    const execution = new Execution();
    execution.stdout = answer.stdout ?? "";
    execution.stderr = answer.stderr ?? "";
    execution.results = (answer.results ?? []).map((data, index) => new Result(data, index === answer.main_result));
    if (answer.error) execution.error = answer.error;
    if (answer.error_info) execution.errorInfo = answer.error_info;
    execution.exit_code = execution.exitCode = answer.exit_code ?? 0;
    if (answer.duration_ms !== undefined) execution.duration_ms = answer.duration_ms;
    if (answer.execution_count !== undefined) execution.executionCount = answer.execution_count;
    execution.status = answer.status ?? "ok";
    execution.restarted = answer.restarted ?? false;
    execution.truncated = answer.truncated ?? false;
    execution.summarize();
    return execution;
  }

  /** @internal Sets `text` and `png` from the results. */
  summarize(): void {
    const last = (key: "text" | "png") => this.results.findLast((result) => result[key] !== undefined)?.[key];
    const text = this.results.findLast((result) => result.isMain && result.text !== undefined)?.text ?? last("text");
    if (text !== undefined) this.text = text;
    const png = last("png");
    if (png !== undefined) this.png = png;
  }
}

/**
 * Runs the loop over the events of a cell.
 *
 * @internal
 */
export async function collectExecution(
  stream: NativeStream<ExecutionEvent>,
  callbacks: ExecutionCallbacks,
  signal: AbortSignal | undefined,
  maxOutputBytes: number | undefined,
): Promise<Execution> {
  const collector = new Collector(callbacks, maxOutputBytes);
  try {
    await eachEvent(stream, signal, (event) => collector.take(event));
  } catch (error) {
    throw collector.attachTo(error);
  }
  const execution = collector.execution();
  if (execution.status === "timed_out") throw collector.attachTo(new SandboxTimeout(timeoutText(execution)));
  return execution;
}

function timeoutText({ duration_ms }: Execution): string {
  return `the code reached its time limit after ${((duration_ms ?? 0) / 1000).toFixed(1)} s`;
}

class Collector {
  readonly #execution = new Execution();
  readonly #stdout: OutputBuffer;
  readonly #stderr: OutputBuffer;
  readonly #displays = new Map<string, number[]>();
  #clearNext = false;

  constructor(
    private readonly callbacks: ExecutionCallbacks,
    maxOutputBytes: number | undefined,
  ) {
    this.#stdout = new OutputBuffer(maxOutputBytes);
    this.#stderr = new OutputBuffer(maxOutputBytes);
  }

  /** What has been collected so far. */
  execution(): Execution {
    const execution = this.#execution;
    execution.stdout = this.#stdout.toString();
    execution.stderr = this.#stderr.toString();
    execution.truncated ||= this.#stdout.truncated || this.#stderr.truncated;
    execution.summarize();
    return execution;
  }

  attachTo(error: unknown): unknown {
    if (!(error instanceof PandaStackError) || error.execution) return error;
    const execution = this.execution();
    error.execution = execution;
    error.stdout ??= execution.stdout;
    error.stderr ??= execution.stderr;
    return error;
  }

  /** Takes one event; the answer is what a callback returned, to be awaited. */
  take(event: ExecutionEvent): unknown {
    switch (event.type) {
      case "stdout":
        this.#stdout.push(event.text);
        return this.callbacks.onStdout?.(event.text);
      case "stderr":
        this.#stderr.push(event.text);
        return this.callbacks.onStderr?.(event.text);
      case "result":
        return this.#call("onResult", this.#show(event));
      case "clear":
        if (event.wait) this.#clearNext = true;
        else this.#clear();
        return undefined;
      case "error":
        return this.#call("onError", this.#raise(event));
      case "end":
        return this.#end(event);
      default:
        return undefined;
    }
  }

  #show(event: Extract<ExecutionEvent, { type: "result" }>): Result {
    const result = new Result(event.data, event.is_main);
    const { results } = this.#execution;
    const earlier = event.display_id ? this.#displays.get(event.display_id) : undefined;
    if (event.update) {
      for (const index of earlier ?? []) results[index] = new Result(event.data, results[index]?.isMain);
      return result;
    }
    if (this.#clearNext) this.#clear();
    results.push(result);
    if (event.display_id)
      this.#displays.set(event.display_id, [...(this.#displays.get(event.display_id) ?? []), results.length - 1]);
    return result;
  }

  #clear(): void {
    this.#clearNext = false;
    this.#execution.results.length = 0;
    this.#displays.clear();
  }

  #raise(event: Extract<ExecutionEvent, { type: "error" }>): ExecutionErrorInfo {
    const { text, name, value, traceback, line } = event;
    const info: ExecutionErrorInfo = { name, value, traceback };
    if (line !== undefined && line !== null) info.line = line;
    this.#execution.error = text;
    this.#execution.errorInfo = info;
    return info;
  }

  #end(event: Extract<ExecutionEvent, { type: "end" }>): unknown {
    const execution = this.#execution;
    execution.status = event.status;
    execution.exit_code = execution.exitCode = event.exit_code;
    execution.duration_ms = event.duration_ms;
    if (event.execution_count > 0) execution.executionCount = event.execution_count;
    execution.restarted = event.restarted;
    execution.truncated = event.truncated;
    if (event.status !== "kernel_died" || execution.error) return undefined;
    const value = "the kernel process ended while the code ran; a new kernel is ready, variables are lost";
    const error = { type: "error" as const, text: `KernelDied: ${value}`, name: "KernelDied", value, traceback: [] };
    return this.#call("onError", this.#raise(error));
  }

  /** A method, because `?.()` would not even evaluate its argument where there is no callback. */
  #call<K extends keyof ExecutionCallbacks>(name: K, value: Parameters<NonNullable<ExecutionCallbacks[K]>>[0]): unknown {
    return (this.callbacks[name] as ((value: unknown) => unknown) | undefined)?.(value);
  }
}
