/**
 * Sandboxes with a persistent Python kernel for AI agents.
 *
 * @packageDocumentation
 */
export type { CallOptions } from "./call-options.js";
export { Client, Client as default, type ClientConfig } from "./client.js";
export { CodeContext, type CodeContextOptions, type RunCodeOptions } from "./code-context.js";
export {
  AbortError,
  AuthError,
  BadRequestError,
  CapacityError,
  CommandError,
  ConflictError,
  EngineError,
  type ErrorDetails,
  ExploreError,
  InterruptedError,
  InvalidOptionError,
  NetworkError,
  NotFoundError,
  NotSupportedError,
  PandaStackError,
  RateLimitError,
  SandboxGoneError,
  SandboxTimeout,
  ServerError,
  TemplateBuildError,
  TimeoutError,
} from "./errors.js";
export type { Command, ExecOptions, ExecResult, ExecStreamCallbacks } from "./exec.js";
export { Execution, type ExecutionCallbacks, type ExecutionErrorInfo } from "./execution.js";
export type { FileContent, FileInfo } from "./filesystem.js";
export type { RequestOptions } from "./request.js";
export { type Chart, type DataFrame, Result } from "./result.js";
export { type OneShotLanguage, Sandbox, type SandboxCreateOptions } from "./sandbox.js";
export type {
  CreatedToken,
  ErrorCode,
  ExecutionStatus,
  FileWritten,
  LifecycleInfo,
  MeInfo,
  SandboxInfo,
  SandboxStatus,
  TemplateInfo,
  TokenInfo,
} from "./wire/index.js";
