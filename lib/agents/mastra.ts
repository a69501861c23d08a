import { createSdkSandbox } from "./create-sandbox.js";
import { makeRunCodeTool, type RunCodeTool } from "./mastra-tool.js";
import type { RunCodeToolOptions } from "./run-code-options.js";

export { ClosedError, type CodeSession } from "./code-session.js";
export type { RunCodeImage, RunCodeOutput, RunCodeStatus } from "./run-code.js";
export type { ToolCallInfo } from "./run-code-options.js";
export type { RunCodeInput } from "./run-code-schema.js";
export type { RunCodeTool, RunCodeToolOptions };

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
