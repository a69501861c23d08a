/** What the tools of all frameworks share. Imports no framework. */

export { ALL_LOST, ClosedError, CodeSession, VARIABLES_LOST } from "./code-session.js";
export type { CreateSandbox } from "./contract.js";
export { executionText } from "./execution-text.js";
export * from "./run-code.js";
export type { RunCodeToolOptions, ToolCallInfo } from "./run-code-options.js";
export { type RunCodeInput, runCodeJsonSchema, runCodeSchema } from "./run-code-schema.js";
