import type { Execution } from "../execution.js";
import { ClosedError, CodeSession } from "./code-session.js";
import { type CreateSandbox, failureOf } from "./contract.js";
import { executionText } from "./execution-text.js";
import { checkedOptions, type RunCodeToolOptions, type ToolCallInfo } from "./run-code-options.js";
import { inputFault } from "./run-code-schema.js";

/** An image for the model. */
export interface RunCodeImage {
  /** `image/png`, `image/jpeg`, … */
  mediaType: string;
  /** Base64. */
  data: string;
}

/** How a call ended; `running` only in preliminary outputs. */
export type RunCodeStatus = "running" | "ok" | "error" | "timed_out" | "interrupted" | "sandbox_gone";

/** Output of the tool: plain JSON, small enough to be stored with a conversation. */
export interface RunCodeOutput {
  /** What the model reads. */
  text: string;
  /** How the call ended. */
  status: RunCodeStatus;
  /** Number of the cell in its kernel, from 1. */
  executionCount?: number;
  /** Wall-clock time in milliseconds. */
  durationMs?: number;
  /** Only with the option `images`. */
  images?: RunCodeImage[];
}

/** One call of the tool. */
export interface RunCodeCall extends ToolCallInfo {
  /** Aborts the call; a running cell is interrupted. */
  signal?: AbortSignal | undefined;
  /** What the framework passed along, for `sessionKey`. */
  frameworkContext?: unknown;
  /** Called with each piece of output, stdout and stderr, as it comes. */
  onOutput?: (stream: "stdout" | "stderr", text: string) => void | Promise<void>;
}

const MAX_IMAGES = 4;
/** The host gets more of the output than the model, through `onExecution`, but never so much that it hurts. */
const MIN_OUTPUT_BYTES = 1 << 20;

/** What all framework tools share: sessions, calls, and the text for the model. Knows no framework. */
export class RunCode {
  /** Name of the tool. */
  readonly name: string;
  /** Language of its kernels. */
  readonly language: string;
  /** What the model is told about it. */
  readonly description: string;
  /** Session of the calls without a key. */
  readonly session: CodeSession;
  readonly #options: RunCodeToolOptions;
  readonly #createSandbox: CreateSandbox;
  readonly #sessions = new Map<string, CodeSession>();
  #closed: Promise<void> | undefined;

  /** @throws if an option is wrong. */
  constructor(options: RunCodeToolOptions, createSandbox: CreateSandbox) {
    this.#options = checkedOptions(options);
    this.#createSandbox = createSandbox;
    this.name = options.name ?? "run_code";
    this.language = options.language ?? "python";
    this.description = options.description ?? defaultDescription(this.language);
    this.session = this.#newSession();
  }

  /**
   * The session of a key.
   *
   * @throws {ClosedError} after `close()`.
   */
  sessionFor(key: string | undefined): CodeSession {
    if (this.#closed) throw new ClosedError(this.name);
    if (key === undefined) return this.session;
    const session = this.#sessions.get(key) ?? this.#newSession();
    this.#sessions.set(key, session);
    return session;
  }

  /**
   * Runs one call.
   *
   * What the code did wrong, its time limit, a cut connection and a sandbox that ended are outputs for the model.
   *
   * @throws if the input is no code, the server is not there or refuses, the call was aborted, or the tool is closed.
   */
  async run(input: unknown, call: RunCodeCall = {}): Promise<RunCodeOutput> {
    const fault = inputFault(input);
    if (fault !== undefined) throw new TypeError(`${this.name}: ${fault}`);
    const session = this.sessionFor(this.#options.sessionKey?.(call.frameworkContext));
    const { code } = input as { code: string };
    const { execution, failure, status } = await this.#execute(session, code, call);
    const notice = session.takeNotice();
    await this.#options.onExecution?.(execution, { toolCallId: call.toolCallId });
    return this.#output(execution, { notice, failure, status });
  }

  /** Closes all sessions: cancels their cells, closes their kernels, kills the sandboxes the tool made. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#closeAll();
    return this.#closed;
  }

  async #closeAll(): Promise<void> {
    const closings = [this.session, ...this.#sessions.values()].map((session) => session.close());
    for (const result of await Promise.allSettled(closings)) {
      if (result.status === "rejected") throw result.reason;
    }
  }

  #newSession(): CodeSession {
    const { sandbox, context, create, client, idleSeconds } = this.#options;
    const creation = { template: "code-interpreter", ttlSeconds: 3600, metadata: { tool: this.name }, ...create };
    return new CodeSession({
      name: this.name,
      language: this.language,
      sandbox,
      context,
      idleSeconds,
      createSandbox: (signal) => this.#createSandbox({ ...creation, signal }, client),
    });
  }

  async #execute(session: CodeSession, code: string, call: RunCodeCall): Promise<Ended> {
    const { maxOutputChars = 20_000, timeoutSeconds = 120 } = this.#options;
    try {
      const execution = await session.run(code, {
        timeoutSeconds,
        maxOutputBytes: Math.max(4 * maxOutputChars, MIN_OUTPUT_BYTES),
        onStdout: (text) => this.#heard("stdout", text, call),
        onStderr: (text) => this.#heard("stderr", text, call),
        ...(call.signal && { signal: call.signal }),
      });
      return { execution, status: execution.error === undefined ? "ok" : "error" };
    } catch (error) {
      const ended = endedEarly(error, timeoutSeconds);
      if (!ended) throw error;
      return ended;
    }
  }

  async #heard(stream: "stdout" | "stderr", text: string, call: RunCodeCall): Promise<void> {
    const info = { toolCallId: call.toolCallId };
    await (stream === "stdout" ? this.#options.onStdout : this.#options.onStderr)?.(text, info);
    await call.onOutput?.(stream, text);
  }

  #output(execution: Execution, end: Omit<Ended, "execution"> & { notice: string | undefined }): RunCodeOutput {
    const { format, maxOutputChars = 20_000, images } = this.#options;
    const custom = end.failure === undefined ? format?.(execution) : undefined;
    const text =
      custom === undefined
        ? executionText(execution, { maxOutputChars, notice: end.notice, failure: end.failure })
        : [end.notice, custom].filter((part) => part !== undefined).join("\n\n");
    const output: RunCodeOutput = { text, status: end.status };
    if (execution.executionCount !== undefined) output.executionCount = execution.executionCount;
    if (execution.duration_ms !== undefined) output.durationMs = execution.duration_ms;
    const pictures = images ? imagesOf(execution) : [];
    if (pictures.length > 0) output.images = pictures;
    return output;
  }
}

interface Ended {
  execution: Execution;
  status: RunCodeStatus;
  /** Why the cell did not come to its end. */
  failure?: string | undefined;
}

/** The output so far and the reason, for errors that are the code's own affair; undefined for all others. */
function endedEarly(error: unknown, timeoutSeconds: number): Ended | undefined {
  const { code, execution } = failureOf(error);
  if (!execution) return undefined;
  switch (code) {
    case "sandbox_timeout":
    case "timeout": {
      const kept = execution.executionCount !== undefined && !execution.restarted ? ", variables are kept" : "";
      const failure = `the code was stopped: it was still running after ${timeoutSeconds} s${kept}; the output so far is kept`;
      return { execution, failure, status: "timed_out" };
    }
    case "interrupted": {
      const failure = "the connection to the sandbox was cut while the code was running; it may not have run to its end";
      return { execution, failure, status: "interrupted" };
    }
    case "sandbox_gone": {
      const failure = "the sandbox ended while the code was running; the code was not run again";
      return { execution, failure, status: "sandbox_gone" };
    }
    default:
      return undefined;
  }
}

function imagesOf(execution: Execution): RunCodeImage[] {
  const images: RunCodeImage[] = [];
  for (const { data } of execution.results) {
    for (const mediaType of ["image/png", "image/jpeg"]) {
      const content = data[mediaType];
      if (content !== undefined) images.push({ mediaType, data: content.replace(/\s/g, "") });
    }
  }
  return images.slice(-MAX_IMAGES);
}

function defaultDescription(language: string): string {
  return [
    `Runs ${language} code in an isolated sandbox and returns what it printed, the value of the last expression, or the traceback.`,
    "Variables, imports and files persist across calls: build up your work step by step.",
    "Use it whenever you need to compute, to analyse data, or to check a result.",
    ...(language === "python"
      ? [
          "numpy, pandas, matplotlib and plotly are there; install others with `!pip install NAME`. Charts are captured by plt.show().",
        ]
      : []),
  ].join(" ");
}
