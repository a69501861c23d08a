import type { Tool } from "ai";
import type { CodeSession } from "./code-session.js";
import type { CreateSandbox } from "./contract.js";
import { linkedSignal } from "./linked-signal.js";
import { OutputFeed } from "./output-feed.js";
import { RunCode, type RunCodeImage, type RunCodeOutput } from "./run-code.js";
import type { RunCodeToolOptions } from "./run-code-options.js";
import { type RunCodeInput, runCodeSchema } from "./run-code-schema.js";

/** A tool of the AI SDK with the kernel behind it. */
export type RunCodeTool = Tool<RunCodeInput, RunCodeOutput> & {
  /** The session of calls without a key: `await tool.session.sandbox()` gives its sandbox, made if need be. */
  readonly session: CodeSession;
  /** The session of a key; see the option `sessionKey`. */
  sessionFor(key: string | undefined): CodeSession;
  /** Cancels running cells, closes the kernels, kills the sandboxes the tool made. Idempotent. Using the tool afterwards throws. */
  close(): Promise<void>;
  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
};

/** What the AI SDK passes to a tool, as far as it is used here; `context` is there from version 7 on. */
interface CallOptions {
  toolCallId: string;
  abortSignal?: AbortSignal | undefined;
}

/** Makes the tool; `createSandbox` makes its sandboxes. */
export function makeRunCodeTool(options: RunCodeToolOptions, createSandbox: CreateSandbox): RunCodeTool {
  const runCode = new RunCode(options, createSandbox);
  const images = new ImageParts();
  const close = () => runCode.close();
  return {
    description: runCode.description,
    inputSchema: runCodeSchema(runCode.language),
    execute: (input: RunCodeInput, callOptions: CallOptions) => {
      images.learn(callOptions);
      return outputs(runCode, input, callOptions);
    },
    toModelOutput: ({ output }: { output: RunCodeOutput }) => images.modelOutput(output),
    session: runCode.session,
    sessionFor: (key: string | undefined) => runCode.sessionFor(key),
    close,
    [Symbol.asyncDispose]: close,
  } as RunCodeTool;
}

/** Preliminary outputs, then the final one. Whoever stops reading cancels the cell. */
async function* outputs(runCode: RunCode, input: RunCodeInput, call: CallOptions): AsyncGenerator<RunCodeOutput, void, void> {
  const stopped = new AbortController();
  const { signal, release } = linkedSignal(call.abortSignal, stopped.signal);
  const feed = new OutputFeed();
  const final = runCode.run(input, {
    toolCallId: call.toolCallId,
    frameworkContext: call,
    signal,
    onOutput: (_stream, text) => feed.push(text),
  });
  final.then(
    () => feed.end(),
    () => feed.end(),
  );
  try {
    for await (const text of feed.snapshots()) yield { text, status: "running" };
    yield await final;
  } finally {
    stopped.abort(new Error(`${runCode.name}: nobody waits for the result any more`));
    release();
  }
}

/** How an image is handed to the model: the two major versions of the AI SDK disagree. */
class ImageParts {
  #version7 = false;

  learn(callOptions: CallOptions): void {
    this.#version7 = "context" in callOptions;
  }

  modelOutput({ text, images = [] }: RunCodeOutput) {
    if (images.length === 0) return { type: "text" as const, value: text };
    return { type: "content" as const, value: [{ type: "text" as const, text }, ...images.map((image) => this.#part(image))] };
  }

  #part({ mediaType, data }: RunCodeImage) {
    return this.#version7
      ? { type: "file" as const, mediaType, data: { type: "data" as const, data } }
      : { type: "image-data" as const, mediaType, data };
  }
}
