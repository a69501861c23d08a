import { makeRunCodeTool, type RunCodeTool } from "./ai-tool.js";
import { createSdkSandbox } from "./create-sandbox.js";
import type { RunCodeToolOptions } from "./run-code-options.js";

export { ClosedError, type CodeSession } from "./code-session.js";
export type { RunCodeImage, RunCodeOutput, RunCodeStatus } from "./run-code.js";
export type { ToolCallInfo } from "./run-code-options.js";
export type { RunCodeInput } from "./run-code-schema.js";
export type { RunCodeTool, RunCodeToolOptions };

/**
 * A tool for the AI SDK (versions 6 and 7) that runs code in a sandbox with a persistent kernel.
 *
 * The sandbox is made at the first call. A traceback is a normal result, so that the model can repair its code. While a cell
 * runs, its output so far comes as preliminary results.
 *
 * @example
 * const runCode = runCodeTool();
 * try {
 *   await generateText({ model, tools: { run_code: runCode }, stopWhen: stepCountIs(8), prompt });
 * } finally {
 *   await runCode.close();
 * }
 */
export function runCodeTool(options: RunCodeToolOptions = {}): RunCodeTool {
  return makeRunCodeTool(options, createSdkSandbox);
}
