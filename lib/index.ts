/**
 * Sandboxes with a persistent Python kernel for AI agents.
 *
 * @packageDocumentation
 */
export type {
  AppCreateOptions,
  AppDomain,
  AppDomainRecord,
  AppInfo,
  AppUpdateOptions,
  DeploymentInfo,
  EnvVar,
  EnvVarOptions,
  PreviewRepo,
} from "./app.js";
export { AppsAPI, AppsAPI as AppsNamespace } from "./apps.js";
export type { CallOptions } from "./call-options.js";
export { Client, Client as default, type ClientConfig, type MeInfo } from "./client.js";
export { CodeContext, type CodeContextOptions, type RunCodeOptions } from "./code-context.js";
export type { CommandsNamespace } from "./commands.js";
export type { DatabaseCloneOptions, DatabaseCreateOptions, DatabaseInfo } from "./database.js";
export { DatabasesAPI, DatabasesAPI as DatabasesNamespace } from "./databases.js";
export type { TransferOptions, TransferProgress } from "./directory.js";
export {
  AbortError,
  AddonError,
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
export type {
  Command,
  CommandOptions,
  ExecOptions,
  ExecResult,
  ExecStreamCallbacks,
  OutputCallbacks,
  StartOptions,
} from "./exec.js";
export { Execution, type ExecutionCallbacks, type ExecutionErrorInfo } from "./execution.js";
export type { BranchOutcome, Candidate, ExploreOptions, ExploreResult } from "./explore.js";
export type {
  FileContent,
  FileInfo,
  FilesystemNamespace,
  FileTransferOptions,
} from "./filesystem.js";
export type { PromoteResult, SandboxForkOptions, SandboxForkTreeOptions, SandboxPromoteOptions } from "./fork.js";
export type {
  FunctionCreateOptions,
  FunctionDeployOptions,
  FunctionInfo,
  FunctionMetrics,
  FunctionRun,
  FunctionRunInfo,
  FunctionRuntime,
  FunctionUpdateOptions,
} from "./function.js";
export { FunctionsAPI, FunctionsAPI as FunctionsNamespace } from "./functions.js";
export type { Logger, RetryInfo } from "./logging.js";
export type { RequestBody, RequestHeaders, RequestOptions } from "./request.js";
export { type Chart, type DataFrame, Result } from "./result.js";
export { type CommandEvent, type CommandExit, type CommandOutput, RunningCommand } from "./running-command.js";
export {
  type EventsOptions,
  type LogsOptions,
  type OneShotLanguage,
  Sandbox,
  type SandboxCreateOptions,
  type SandboxLimitOptions,
} from "./sandbox.js";
export type { SandboxInfo } from "./sandbox-info.js";
export type { SandboxNamespace } from "./sandboxes.js";
export {
  type ScheduleCreateOptions,
  type ScheduleInfo,
  type ScheduleRequest,
  SchedulesAPI,
  SchedulesAPI as SchedulesNamespace,
  type ScheduleUpdateOptions,
} from "./schedules.js";
export {
  type SnapshotInfo,
  type SnapshotListOptions,
  SnapshotsAPI,
  SnapshotsAPI as SnapshotsNamespace,
} from "./snapshots.js";
export type {
  TemplateBuild,
  TemplateBuildOptions,
  TemplateDockerfileBuildOptions,
  TemplateInfo,
  TemplateRegisterOptions,
} from "./template.js";
export type { TemplateNamespace } from "./templates.js";
export type { TokenNamespace } from "./tokens.js";
export { type VolumeInfo, VolumesAPI, VolumesAPI as VolumesNamespace } from "./volumes.js";
export type { WalkedDirectory, WalkOptions } from "./walk.js";
export type {
  CreatedToken,
  Egress,
  EgressInfo,
  EgressLists,
  EgressPreset,
  ErrorCode,
  ExecutionStatus,
  FileWritten,
  LifecycleInfo,
  SandboxEvent,
  SandboxLimits,
  SandboxStatus,
  Secret,
  TokenInfo,
} from "./wire/index.js";
