import { createTool, type Tool } from "@mastra/core/tools";
import type { CodeSession } from "./code-session.js";
import type { CreateSandbox } from "./contract.js";
import { RunCode, type RunCodeOutput } from "./run-code.js";
import type { RunCodeToolOptions } from "./run-code-options.js";
import { type RunCodeInput, runCodeSchema } from "./run-code-schema.js";

/** A tool of Mastra with the kernel behind it. */
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

/** What Mastra passes to a tool, as far as it is used here. */
interface CallContext {
  abortSignal?: AbortSignal | undefined;
  agent?: { toolCallId?: string } | undefined;
  writer?: { custom(chunk: { type: `data-${string}`; data: unknown }): Promise<void> } | undefined;
}

/** Makes the tool; `createSandbox` makes its sandboxes. */
export function makeRunCodeTool(options: RunCodeToolOptions, createSandbox: CreateSandbox): RunCodeTool {
  const runCode = new RunCode(options, createSandbox);
  const tool = createTool({
    id: runCode.name,
    description: runCode.description,
    inputSchema: runCodeSchema(runCode.language),
    // A promise: an async generator would reach the model as an empty object.
    execute: (input: RunCodeInput, context: CallContext = {}) => run(runCode, input, context),
    toModelOutput: (output: unknown) => modelOutput(output as Partial<RunCodeOutput>),
  });
  const close = () => runCode.close();
  return Object.assign(tool as unknown as Tool<RunCodeInput, RunCodeOutput>, {
    session: runCode.session,
    sessionFor: (key: string | undefined) => runCode.sessionFor(key),
    close,
    [Symbol.asyncDispose]: close,
  });
}

function run(runCode: RunCode, input: RunCodeInput, context: CallContext): Promise<RunCodeOutput> {
  const toolCallId = context.agent?.toolCallId;
  return runCode.run(input, {
    toolCallId,
    frameworkContext: context,
    signal: context.abortSignal,
    onOutput: (stream, text) => context.writer?.custom({ type: `data-${stream}`, data: { toolCallId, text } }),
  });
}

/** Input that the schema refused comes here, too: as Mastra's own object with a message for the model. */
function modelOutput(output: Partial<RunCodeOutput> & { message?: string }) {
  const { text = output.message ?? JSON.stringify(output), images = [] } = output;
  if (images.length === 0) return { type: "text", value: text };
  const parts = images.map(({ mediaType, data }) => ({ type: "image-data", mediaType, data }));
  return { type: "content", value: [{ type: "text", text }, ...parts] };
}
