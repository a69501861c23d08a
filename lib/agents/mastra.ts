import { createTool, type Tool } from '@mastra/core/tools';
import type { CodeSession } from './code-session.js';
import type { CreateSandbox } from './contract.js';
import { createSdkSandbox } from './create-sandbox.js';
import { RunCode, type RunCodeImage, type RunCodeOutput } from './run-code.js';
import type { RunCodeToolOptions } from './run-code-options.js';
import { type RunCodeInput, runCodeSchema } from './run-code-schema.js';

export type { RunCodeImage, RunCodeInput, RunCodeOutput, RunCodeToolOptions };

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

/**
 * A tool for Mastra that runs code in a sandbox with a persistent kernel.
 *
 * The sandbox is made at the first call. A traceback is a normal result, so that the model can repair its code. While a cell
 * runs, its output comes as `data-stdout` and `data-stderr` chunks of the agent's stream.
 *
 * @example
 * const runCode = runCodeTool();
 * const agent = new Agent({ id: 'analyst', name: 'analyst', instructions, model, tools: { run_code: runCode } });
 */
export function runCodeTool(options: RunCodeToolOptions = {}): RunCodeTool {
  return makeRunCodeTool(options, createSdkSandbox);
}

/**
 * {@link runCodeTool} with another way to make sandboxes.
 *
 * @internal
 */
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
  if (images.length === 0) return { type: 'text', value: text };
  const parts = images.map(({ mediaType, data }) => ({ type: 'image-data', mediaType, data }));
  return { type: 'content', value: [{ type: 'text', text }, ...parts] };
}
