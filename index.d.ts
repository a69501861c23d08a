// The public types, written by scripts/write-api.mjs (`npm run build:api`). Not published: the package has dist/.

declare module "@pandastack/sdk" {
  export class AbortError extends PandaStackError {
  }
  export class AddonError extends PandaStackError {
  }
  export interface AppCreateOptions extends AppUpdateOptions {
      name: string;
      git_url: string;
  }
  export interface AppDomain {
      domain: string;
      app_id: string;
      status: "pending" | "verified" | "active" | "error";
      cert_status?: string;
      dns_note?: string;
      error?: string;
      records: AppDomainRecord[];
      created_at: string;
      updated_at: string;
  }
  export interface AppDomainRecord {
      type: string;
      name: string;
      value: string;
      purpose: string;
      note?: string;
  }
  export interface AppInfo {
      id: string;
      workspace: string;
      name: string;
      git_url: string;
      git_branch: string;
      framework?: string;
      install_command?: string;
      build_command?: string;
      start_command?: string;
      root_directory?: string;
      port: number;
      env: Record<string, string>;
      template: string;
      cpu: number;
      memory_mb: number;
      sandbox_id?: string;
      active_deployment_id?: string;
      status: string;
      url?: string;
      is_preview?: boolean;
      pr_number?: number;
      pr_state?: string;
      head_sha?: string;
      repo_full_name?: string;
      preview_url?: string;
      created_at: string;
      updated_at: string;
  }
  export interface AppUpdateOptions {
      git_branch?: string;
      framework?: string;
      install_command?: string;
      build_command?: string;
      start_command?: string;
      root_directory?: string;
      port?: number;
      env?: Record<string, string>;
      template?: string;
      cpu?: number;
      memory_mb?: number;
  }
  export class AppsAPI {
      private readonly client;
      constructor(client: Client);
      create(options: AppCreateOptions, call?: CallOptions): Promise<AppInfo>;
      list(options?: CallOptions): Promise<AppInfo[]>;
      get(id: string, options?: CallOptions): Promise<AppInfo>;
      update(id: string, options: AppUpdateOptions, call?: CallOptions): Promise<AppInfo>;
      delete(id: string, options?: CallOptions): Promise<void>;
      deploy(id: string, options?: {
          gitRef?: string;
      }, call?: CallOptions): Promise<DeploymentInfo>;
      deployments(id: string, options?: CallOptions): Promise<DeploymentInfo[]>;
      deployment(appId: string, deploymentId: string, options?: CallOptions): Promise<DeploymentInfo>;
      rollback(id: string, options?: CallOptions): Promise<DeploymentInfo>;
      deployLogs(appId: string, deploymentId: string, options?: CallOptions): AsyncGenerator<string, void, undefined>;
      previews(options?: CallOptions): Promise<AppInfo[]>;
      previewRepos(options?: CallOptions): Promise<PreviewRepo[]>;
      enablePreviewRepo(githubRepoId: number, options?: {
          repoFullName?: string;
      }, call?: CallOptions): Promise<{
          github_repo_id: number;
          enabled: boolean;
      }>;
      disablePreviewRepo(githubRepoId: number, options?: CallOptions): Promise<void>;
      listEnv(appId: string, options?: CallOptions): Promise<EnvVar[]>;
      setEnv(appId: string, key: string, value: string, options?: EnvVarOptions, call?: CallOptions): Promise<{
          key: string;
          secret: boolean;
          scope: string;
      }>;
      unsetEnv(appId: string, key: string, options?: CallOptions): Promise<void>;
      importEnv(appId: string, dotenv: string, options?: EnvVarOptions, call?: CallOptions): Promise<{
          imported: number;
          total: number;
      }>;
      addDomain(appId: string, domain: string, options?: CallOptions): Promise<AppDomain>;
      listDomains(appId: string, options?: CallOptions): Promise<AppDomain[]>;
      getDomain(appId: string, domain: string, options?: CallOptions): Promise<AppDomain>;
      removeDomain(appId: string, domain: string, options?: CallOptions): Promise<void>;
      listPreviewEnv(githubRepoId: number, options?: CallOptions): Promise<EnvVar[]>;
      setPreviewEnv(githubRepoId: number, key: string, value: string, options?: {
          secret?: boolean;
      }, call?: CallOptions): Promise<{
          key: string;
          secret: boolean;
      }>;
      unsetPreviewEnv(githubRepoId: number, key: string, options?: CallOptions): Promise<void>;
      importPreviewEnv(githubRepoId: number, dotenv: string, options?: {
          secret?: boolean;
      }, call?: CallOptions): Promise<{
          imported: number;
          total: number;
      }>;
  }
  export { AppsAPI as AppsNamespace };
  export class AuthError extends PandaStackError {
  }
  export class BadRequestError extends PandaStackError {
  }
  export interface BranchOutcome {
      label: string;
      sandboxId: string;
      ok: boolean;
      score: number;
      exitCode: number | null;
      stdoutTail: string;
      stderrTail: string;
      filesChanged: string[];
      durationMs: number;
      value?: unknown;
      error: string | null;
      timedOut: boolean;
      readonly sandbox?: Sandbox;
  }
  export interface CallOptions {
      signal?: AbortSignal;
      timeoutMs?: number;
  }
  export interface Candidate {
      label: string;
      cmd?: string;
      fn?: (sandbox: Sandbox) => Promise<unknown> | unknown;
      timeoutS?: number;
      env?: Record<string, string>;
      score?: number;
  }
  export class CapacityError extends ServerError {
  }
  export interface Chart {
      type: string;
      title?: string | null;
      elements?: unknown[];
      [key: string]: unknown;
  }
  export class Client {
      readonly apiUrl: string;
      readonly timeoutMs: number;
      readonly sandboxes: SandboxNamespace;
      readonly templates: TemplateNamespace;
      readonly tokens: TokenNamespace;
      readonly functions: FunctionsAPI;
      readonly schedules: SchedulesAPI;
      readonly databases: DatabasesAPI;
      readonly apps: AppsAPI;
      readonly volumes: VolumesAPI;
      readonly snapshots: SnapshotsAPI;
      previewHost?: string;
      constructor(config?: ClientConfig);
      get apiKey(): string | undefined;
      me(options?: CallOptions): Promise<MeInfo>;
      request<T = unknown>(method: string, path: string, options?: RequestOptions): Promise<T>;
      close(): void;
      [Symbol.dispose](): void;
  }
  export interface ClientConfig {
      apiUrl?: string | null;
      apiKey?: string | null;
      timeoutMs?: number;
      maxCreateRetrySeconds?: number;
      onRetry?: (retry: RetryInfo) => void;
      logger?: Logger;
  }
  export class CodeContext {
      #private;
      readonly id: string;
      readonly language: string;
      constructor(client: Client, sandboxId: string, id: string, language?: string);
      runCode(code: string, options?: RunCodeOptions): Promise<Execution>;
      interrupt(options?: CallOptions): Promise<void>;
      restart(options?: CallOptions): Promise<void>;
      close(options?: CallOptions): Promise<void>;
      [Symbol.asyncDispose](): Promise<void>;
  }
  export interface CodeContextOptions {
      language?: string;
      cwd?: string;
      env?: Record<string, string>;
      fresh?: boolean;
      signal?: AbortSignal;
      timeoutMs?: number;
  }
  export type Command = string | readonly string[];
  export class CommandError extends PandaStackError {
      readonly exitCode: number;
      stdout: string;
      stderr: string;
      constructor(message: string, exitCode: number, stdout?: string, stderr?: string);
  }
  export type CommandEvent = CommandOutput | CommandExit;
  export interface CommandExit {
      readonly type: "exit";
      readonly exitCode: number;
  }
  export interface CommandOptions {
      timeoutSeconds?: number;
      env?: Record<string, string>;
      cwd?: string;
      user?: string;
      maxOutputBytes?: number;
      signal?: AbortSignal;
      timeoutMs?: number;
  }
  export interface CommandOutput {
      readonly type: "stdout" | "stderr";
      readonly text: string;
      readonly bytes: Buffer;
  }
  export class CommandsNamespace {
      private readonly client;
      private readonly sandbox;
      constructor(client: Client, sandbox: string);
      run(command: Command, options: StartOptions & {
          stream: true;
      }): Promise<RunningCommand>;
      run(command: Command, options?: ExecOptions): Promise<ExecResult>;
      start(command: Command, options?: StartOptions): Promise<RunningCommand>;
  }
  export class ConflictError extends BadRequestError {
  }
  export type CreatedToken = {
      token: string;
      prefix: string;
      label?: string;
      created_at: string;
  };
  export interface DataFrame {
      columns: {
          name: string;
          dtype: string;
      }[];
      rows: unknown[][];
      index?: string[];
      column_count?: number;
      row_count: number;
      truncated: boolean;
  }
  export interface DatabaseCloneOptions {
      label?: string;
      target_time?: string;
      size?: string;
  }
  export interface DatabaseCreateOptions {
      cpu?: number;
      memory_mb?: number;
      label?: string;
      size?: string;
      always_on?: boolean;
  }
  export interface DatabaseInfo {
      id: string;
      status: string;
      template: string;
      created_at?: number;
      host?: string;
      port?: number;
      database?: string;
      username?: string;
      password?: string;
      connection_url?: string;
      broker_port?: number;
      broker_token?: string;
      broker_url?: string;
      error?: string;
      failover_available?: boolean;
      failover_reason?: string;
      failover_eta_seconds?: number;
      sandbox_id?: string;
      size?: string;
      cloned_from?: string;
      always_on?: boolean;
  }
  export class DatabasesAPI {
      #private;
      private readonly client;
      constructor(client: Client);
      create(options?: DatabaseCreateOptions, call?: CallOptions): Promise<DatabaseInfo>;
      waitUntilReady(id: string, timeoutMs?: number, options?: CallOptions): Promise<DatabaseInfo>;
      list(options?: CallOptions): Promise<DatabaseInfo[]>;
      get(id: string, options?: CallOptions): Promise<DatabaseInfo>;
      delete(id: string, options?: CallOptions): Promise<void>;
      connection(id: string, options?: CallOptions): Promise<{
          connection_url: string;
          broker_url: string;
          broker_token?: string;
      }>;
      failover(id: string, options?: CallOptions): Promise<DatabaseInfo>;
      wake(id: string, options?: CallOptions): Promise<{
          id: string;
          status: string;
          detail?: string;
      }>;
      update(id: string, patch: {
          always_on?: boolean;
      }, call?: CallOptions): Promise<DatabaseInfo>;
      clone(id: string, options?: DatabaseCloneOptions, waiting?: {
          wait?: boolean;
          timeoutMs?: number;
      } & CallOptions): Promise<DatabaseInfo>;
      resetCredentials(id: string, options?: CallOptions): Promise<DatabaseInfo>;
  }
  export { DatabasesAPI as DatabasesNamespace };
  export interface DeploymentInfo {
      id: string;
      app_id: string;
      workspace: string;
      status: string;
      git_commit?: string;
      git_ref?: string;
      sandbox_id?: string;
      build_logs?: string;
      error?: string;
      created_at: string;
      updated_at: string;
      finished_at?: string;
  }
  export type Egress = EgressPreset | EgressLists;
  export type EgressInfo = {
      egress: Egress;
      secrets: {
          [key in string]: Array<string>;
      };
  };
  export type EgressLists = {
      allow?: Array<string>;
      deny?: Array<string>;
  };
  export type EgressPreset = "all" | "none";
  export class EngineError extends PandaStackError {
  }
  export interface EnvVar {
      key: string;
      value?: string;
      secret: boolean;
      scope: "all" | "production" | "preview";
      updated_at?: string;
      created_by?: string;
  }
  export interface EnvVarOptions {
      secret?: boolean;
      scope?: "all" | "production" | "preview";
  }
  export type ErrorCode = "auth" | "bad_request" | "not_found" | "conflict" | "rate_limit" | "capacity" | "server" | "not_supported" | "sandbox_timeout" | "sandbox_gone" | "timeout" | "interrupted" | "aborted" | "network" | "engine" | "command" | "template_build" | "explore" | "invalid_option" | "addon";
  export interface ErrorDetails {
      code?: ErrorCode | undefined;
      statusCode?: number | undefined;
      requestId?: string | undefined;
      method?: string | undefined;
      url?: string | undefined;
      retryAfter?: number | undefined;
      body?: string | undefined;
      cause?: unknown;
      stdout?: string | undefined;
      stderr?: string | undefined;
      execution?: Execution | undefined;
  }
  export interface EventsOptions extends CallOptions {
      tail?: number;
  }
  export interface ExecOptions extends CommandOptions {
      check?: boolean;
      stream?: false;
  }
  export interface ExecResult {
      stdout: string;
      stderr: string;
      exit_code: number;
      exitCode: number;
      duration_ms?: number;
      truncated?: boolean;
  }
  export interface ExecStreamCallbacks extends CommandOptions, OutputCallbacks {
      check?: boolean;
  }
  export class Execution {
      results: Result[];
      stdout: string;
      stderr: string;
      error?: string;
      errorInfo?: ExecutionErrorInfo;
      exit_code: number;
      exitCode: number;
      duration_ms?: number;
      executionCount?: number;
      status: ExecutionStatus;
      restarted: boolean;
      truncated: boolean;
      text?: string;
      png?: string;
  }
  export interface ExecutionCallbacks {
      onStdout?: ((text: string) => unknown) | undefined;
      onStderr?: ((text: string) => unknown) | undefined;
      onResult?: ((result: Result) => unknown) | undefined;
      onError?: ((error: ExecutionErrorInfo) => unknown) | undefined;
  }
  export interface ExecutionErrorInfo {
      name: string;
      value: string;
      traceback: string[];
      line?: number;
  }
  export type ExecutionStatus = "ok" | "error" | "interrupted" | "timed_out" | "kernel_died";
  export class ExploreError extends PandaStackError {
  }
  export interface ExploreOptions {
      scoreFn?: (sandbox: Sandbox, outcome: BranchOutcome) => number | Promise<number>;
      select?: "max" | "min" | ((outcomes: BranchOutcome[]) => BranchOutcome);
      requireSuccess?: boolean;
      maxConcurrency?: number;
      cleanupLosers?: boolean;
      promoteWinner?: boolean;
      captureFiles?: boolean | string;
      ttlSeconds?: number;
      onOutcome?: (outcome: BranchOutcome) => void;
      signal?: AbortSignal;
      timeoutMs?: number;
  }
  export interface ExploreResult {
      winner: Sandbox | null;
      winnerOutcome: BranchOutcome | null;
      outcomes: BranchOutcome[];
      treeId: string;
      reaped: string[];
      reapFailures: Record<string, string>;
      errors: string[];
  }
  export type FileContent = string | Uint8Array | ArrayBuffer | AsyncIterable<string | Uint8Array> | ReadableStream<Uint8Array>;
  export interface FileInfo extends WireFileInfo {
      path: string;
  }
  export interface FileTransferOptions extends CallOptions {
      onProgress?: (bytes: number) => void;
  }
  export type FileWritten = {
      path: string;
      bytes: number;
  };
  export class FilesystemNamespace {
      private readonly client;
      private readonly sandbox;
      constructor(client: Client, sandbox: string);
      read(path: string, options?: CallOptions): Promise<string>;
      readBytes(path: string, options?: CallOptions): Promise<Buffer>;
      readStream(path: string, options?: CallOptions): AsyncGenerator<Buffer, void, undefined>;
      write(path: string, content: FileContent, options?: CallOptions): Promise<FileWritten>;
      upload(localPath: string, path: string, options?: FileTransferOptions): Promise<FileWritten>;
      download(path: string, localPath: string, options?: FileTransferOptions): Promise<void>;
      list(path?: string, options?: CallOptions): Promise<FileInfo[]>;
      stat(path: string, options?: CallOptions): Promise<FileInfo>;
      exists(path: string, options?: CallOptions): Promise<boolean>;
      remove(path: string, options?: CallOptions): Promise<void>;
      mkdir(paths: string | string[], options?: CallOptions): Promise<void>;
      rename(from: string, to: string, options?: CallOptions): Promise<void>;
      copy(from: string, to: string, options?: {
          recursive?: boolean;
      } & CallOptions): Promise<void>;
      chmod(path: string, mode: number | string, options?: CallOptions): Promise<void>;
      uploadDirectory(localPath: string, path: string, options?: TransferOptions): Promise<void>;
      downloadDirectory(path: string, localPath: string, options?: TransferOptions): Promise<void>;
      walk(path?: string, options?: WalkOptions): AsyncGenerator<WalkedDirectory, void, undefined>;
  }
  export interface FunctionCreateOptions {
      entrypoint?: string;
      env?: Record<string, string>;
      template?: string;
      public?: boolean;
  }
  export interface FunctionDeployOptions extends FunctionCreateOptions {
      name: string;
      runtime: FunctionRuntime;
      code: string | Buffer | Uint8Array;
  }
  export interface FunctionInfo {
      id: string;
      workspace: string;
      name: string;
      runtime: FunctionRuntime;
      entrypoint: string;
      code_size: number;
      template?: string;
      env?: Record<string, string>;
      public: boolean;
      endpoint?: string;
      url?: string;
      gcs_path?: string;
      version?: number;
      is_ready?: boolean;
      created_at: string;
      updated_at: string;
  }
  export interface FunctionMetrics {
      period: string;
      total: number;
      errors: number;
      error_rate: number;
      p50_ms: number;
      p95_ms: number;
      p99_ms: number;
      cold_start_rate: number;
  }
  export interface FunctionRun {
      id: string;
      workspace: string;
      function_id: string;
      schedule_id?: string | null;
      sandbox_id?: string | null;
      status: "queued" | "running" | "success" | "error" | "timeout" | (string & {});
      exit_code?: number | null;
      stdout?: string;
      stderr?: string;
      duration_ms?: number;
      started_at: string;
      ended_at?: string | null;
  }
  export type FunctionRunInfo = FunctionRun;
  export type FunctionRuntime = "python" | "nodejs";
  export interface FunctionUpdateOptions {
      name?: string;
      env?: Record<string, string>;
      public?: boolean;
      entrypoint?: string;
  }
  export class FunctionsAPI {
      private readonly client;
      constructor(client: Client);
      create(name: string, runtime: FunctionRuntime, code: string | Buffer | Uint8Array, options?: FunctionCreateOptions, call?: CallOptions): Promise<FunctionInfo>;
      deploy(options: FunctionDeployOptions, call?: CallOptions): Promise<FunctionInfo>;
      list(options?: CallOptions): Promise<FunctionInfo[]>;
      get(id: string, options?: CallOptions): Promise<FunctionInfo>;
      update(id: string, options?: FunctionUpdateOptions, call?: CallOptions): Promise<FunctionInfo>;
      delete(id: string, options?: CallOptions): Promise<void>;
      getCode(id: string, options?: CallOptions): Promise<ArrayBuffer>;
      invoke(id: string, input?: unknown, options?: CallOptions): Promise<FunctionRun>;
      trigger(id: string, input?: unknown, options?: CallOptions): Promise<FunctionRun>;
      recordRun(id: string, run?: unknown, options?: CallOptions): Promise<FunctionRun>;
      runs(id: string, options?: CallOptions): Promise<FunctionRun[]>;
      listRuns(id: string, options?: CallOptions): Promise<FunctionRun[]>;
      deployBundle(id: string, bundle: Buffer | Uint8Array, entrypoint?: string, options?: CallOptions): Promise<FunctionInfo>;
      metrics(id: string, periodHours?: number, options?: CallOptions): Promise<FunctionMetrics>;
  }
  export { FunctionsAPI as FunctionsNamespace };
  export class InterruptedError extends NetworkError {
  }
  export class InvalidOptionError extends BadRequestError {
  }
  export type LifecycleInfo = {
      ttl_seconds: number;
      persistent: boolean;
      idle_seconds: number;
  };
  export interface Logger {
      debug?(message: string, fields: Record<string, unknown>): void;
      info?(message: string, fields: Record<string, unknown>): void;
      warn?(message: string, fields: Record<string, unknown>): void;
  }
  export interface LogsOptions extends CallOptions {
      stream?: "stdout" | "stderr" | "both";
      follow?: boolean;
  }
  export type MeInfo = WireMeInfo & Record<string, unknown>;
  export class NetworkError extends PandaStackError {
  }
  export class NotFoundError extends PandaStackError {
  }
  export class NotSupportedError extends ServerError {
  }
  export type OneShotLanguage = "python" | "shell";
  export interface OutputCallbacks {
      onStdout?: (text: string) => unknown;
      onStderr?: (text: string) => unknown;
  }
  export class PandaStackError extends Error {
      readonly code: ErrorCode;
      readonly statusCode?: number;
      readonly requestId?: string;
      readonly method?: string;
      readonly url?: string;
      readonly retryAfter?: number;
      readonly body?: unknown;
      stdout?: string;
      stderr?: string;
      execution?: Execution;
      constructor(message: string, statusCode?: number, about?: ErrorDetails | Response);
      get response(): Response | undefined;
      static [Symbol.hasInstance](value: unknown): boolean;
  }
  export interface PreviewRepo {
      github_repo_id: number;
      repo_full_name: string;
      enabled: boolean;
  }
  export interface PromoteResult {
      winner: string;
      tree_id?: string;
      deleted?: string[];
      failures?: Record<string, string>;
  }
  export class RateLimitError extends BadRequestError {
  }
  export type RequestBody = NonNullable<ConstructorParameters<typeof Response>[0]>;
  export type RequestHeaders = NonNullable<ConstructorParameters<typeof Headers>[0]>;
  export interface RequestOptions {
      query?: Record<string, string | number | boolean | undefined>;
      json?: unknown;
      body?: RequestBody;
      headers?: RequestHeaders;
      timeoutMs?: number;
      parseAs?: "json" | "text" | "none";
      noRetry?: boolean;
      signal?: AbortSignal;
  }
  export class Result {
      #private;
      readonly data: Record<string, string>;
      readonly isMain: boolean;
      readonly text?: string;
      readonly html?: string;
      readonly markdown?: string;
      readonly svg?: string;
      readonly png?: string;
      readonly jpeg?: string;
      readonly pdf?: string;
      readonly latex?: string;
      readonly json?: unknown;
      readonly javascript?: string;
      readonly chart?: Chart | string;
      readonly dataframe?: DataFrame;
      constructor(data: Record<string, string>, isMain?: boolean);
      formats(): string[];
      bytes(mime?: string): Buffer;
      save(path: string): Promise<string>;
  }
  export interface RetryInfo {
      method: string;
      path: string;
      attempt: number;
      delayMs: number;
      code: ErrorCode;
      statusCode?: number;
      message: string;
  }
  export interface RunCodeOptions extends ExecutionCallbacks {
      timeoutSeconds?: number;
      env?: Record<string, string>;
      maxOutputBytes?: number;
      signal?: AbortSignal;
      timeoutMs?: number;
  }
  export class RunningCommand implements AsyncIterable<CommandEvent>, AsyncDisposable {
      #private;
      private readonly stream;
      private readonly settings;
      [Symbol.asyncIterator](): AsyncGenerator<CommandEvent, void, undefined>;
      text(output?: "stdout" | "stderr"): AsyncGenerator<string, void, undefined>;
      bytes(output?: "stdout" | "stderr"): AsyncGenerator<Buffer, void, undefined>;
      wait(): Promise<ExecResult>;
      kill(signal?: "SIGTERM" | "SIGKILL"): void;
      [Symbol.asyncDispose](): Promise<void>;
  }
  export class Sandbox {
      #private;
      private readonly client;
      readonly filesystem: FilesystemNamespace;
      readonly commands: CommandsNamespace;
      private constructor();
      static create(options?: SandboxCreateOptions, config?: ClientConfig | Client): Promise<Sandbox>;
      static list(config?: ClientConfig | Client, options?: CallOptions): Promise<Sandbox[]>;
      static get(id: string, config?: ClientConfig | Client, options?: CallOptions): Promise<Sandbox>;
      static fromInfo(info: SandboxInfo, client: Client): Sandbox;
      get info(): SandboxInfo;
      get id(): string;
      get template(): string;
      get status(): SandboxInfo["status"];
      refresh(options?: CallOptions): Promise<this>;
      exec(command: Command, options: StartOptions & {
          stream: true;
      }): Promise<RunningCommand>;
      exec(command: Command, options?: ExecOptions): Promise<ExecResult>;
      execStream(command: Command, options?: ExecStreamCallbacks): Promise<number>;
      runCode(code: string, language?: OneShotLanguage, options?: ExecOptions): Promise<ExecResult>;
      createCodeContext(language?: string | CodeContextOptions, options?: CodeContextOptions): Promise<CodeContext>;
      listCodeContexts(options?: CallOptions): Promise<CodeContext[]>;
      kill(options?: CallOptions): Promise<void>;
      pause(options?: CallOptions): Promise<void>;
      resume(options?: CallOptions): Promise<void>;
      hibernate(options?: CallOptions): Promise<void>;
      wake(options?: CallOptions): Promise<void>;
      snapshot(options?: CallOptions): Promise<SnapshotInfo>;
      fork(options?: SandboxForkOptions): Promise<Sandbox>;
      forkTree(options: SandboxForkTreeOptions): Promise<Sandbox[]>;
      promote(options?: SandboxPromoteOptions): Promise<PromoteResult>;
      explore(candidates: (Candidate | string)[], options?: ExploreOptions): Promise<ExploreResult>;
      logs(options?: LogsOptions): AsyncGenerator<string, void, undefined>;
      previewUrl(port: number, scheme?: "http" | "https"): string;
      previewUrls(options?: CallOptions): Promise<Record<number, string>>;
      egress(options?: CallOptions): Promise<EgressInfo>;
      setEgress(egress: Egress, options?: CallOptions): Promise<EgressInfo>;
      events(options?: EventsOptions): Promise<SandboxEvent[]>;
      lifecycle(options?: CallOptions): Promise<LifecycleInfo>;
      setTtl(seconds: number, options?: CallOptions): Promise<LifecycleInfo>;
      setPersistent(persistent: boolean, options?: CallOptions): Promise<LifecycleInfo>;
      [Symbol.asyncDispose](): Promise<void>;
  }
  export interface SandboxCreateOptions {
      template?: string;
      cpu?: number;
      memoryMb?: number;
      memory_mb?: number;
      fromSnapshot?: string;
      from_snapshot?: string;
      ttlSeconds?: number;
      ttl_seconds?: number;
      persistent?: boolean;
      metadata?: Record<string, string>;
      volumes?: {
          name: string;
          readOnly?: boolean;
          read_only?: boolean;
      }[];
      limits?: SandboxLimitOptions;
      egress?: Egress;
      secrets?: Record<string, Secret>;
      signal?: AbortSignal;
      timeoutMs?: number;
  }
  export type SandboxEvent = {
      time: string;
      sandbox_id: string;
      type: string;
      payload?: Record<string, unknown>;
  };
  export interface SandboxForkOptions extends CallOptions {
      metadata?: Record<string, string>;
  }
  export interface SandboxForkTreeOptions extends SandboxForkOptions {
      count: number;
  }
  export class SandboxGoneError extends PandaStackError {
  }
  export interface SandboxInfo extends Omit<WireSandboxInfo, "status"> {
      status: SandboxStatus | (string & {});
      guest_ip?: string;
      host_tap?: string;
      mac?: string;
      vsock_cid?: number;
  }
  export interface SandboxLimitOptions {
      cpu?: number;
      memoryMb?: number;
      processes?: number;
      diskGb?: number;
      openFiles?: number;
      cellSeconds?: number;
      outputBytes?: number;
  }
  export type SandboxLimits = {
      cpu?: number;
      memory_mb?: number;
      processes?: number;
      disk_gb?: number;
      open_files?: number;
      cell_seconds?: number;
      output_bytes?: number;
  };
  export class SandboxNamespace {
      private readonly client;
      constructor(client: Client);
      create(options?: SandboxCreateOptions): Promise<Sandbox>;
      list(options?: CallOptions): Promise<Sandbox[]>;
      get(id: string, options?: CallOptions): Promise<Sandbox>;
      delete(id: string, options?: CallOptions): Promise<void>;
  }
  export interface SandboxPromoteOptions extends CallOptions {
      cleanupSiblings?: boolean;
      treeId?: string;
  }
  export type SandboxStatus = "creating" | "running" | "paused" | "hibernated" | "stopping" | "failed" | "deleted" | "unknown";
  export class SandboxTimeout extends PandaStackError {
  }
  export interface ScheduleCreateOptions {
      paused?: boolean;
  }
  export interface ScheduleInfo {
      id: string;
      workspace: string;
      name: string;
      function_id: string;
      cron: string;
      paused: boolean;
      last_run_at?: string | null;
      next_run_at?: string | null;
      created_at: string;
      updated_at: string;
  }
  export interface ScheduleRequest extends ScheduleCreateOptions {
      name: string;
      function_id: string;
      cron: string;
  }
  export interface ScheduleUpdateOptions {
      cron?: string;
      paused?: boolean;
  }
  export class SchedulesAPI {
      private readonly client;
      constructor(client: Client);
      create(name: string, functionId: string, cron: string, options?: ScheduleCreateOptions, call?: CallOptions): Promise<ScheduleInfo>;
      create(request: ScheduleRequest, call?: CallOptions): Promise<ScheduleInfo>;
      list(options?: CallOptions): Promise<ScheduleInfo[]>;
      get(id: string, options?: CallOptions): Promise<ScheduleInfo>;
      update(id: string, options?: ScheduleUpdateOptions, call?: CallOptions): Promise<ScheduleInfo>;
      delete(id: string, options?: CallOptions): Promise<void>;
      trigger(id: string, options?: CallOptions): Promise<FunctionRun>;
      runs(id: string, options?: CallOptions): Promise<FunctionRun[]>;
      listRuns(id: string, options?: CallOptions): Promise<FunctionRun[]>;
  }
  export { SchedulesAPI as SchedulesNamespace };
  export type Secret = {
      value: string;
      hosts: Array<string>;
  };
  export class ServerError extends PandaStackError {
  }
  export interface SnapshotInfo {
      id: string;
      sandbox_id?: string;
      created_at?: string;
      mem_path?: string;
      state_path?: string;
      workspace?: string;
      template?: string;
      size_bytes?: number;
  }
  export interface SnapshotListOptions extends CallOptions {
      sandbox_id?: string;
  }
  export class SnapshotsAPI {
      private readonly client;
      constructor(client: Client);
      list(options?: SnapshotListOptions): Promise<SnapshotInfo[]>;
      get(id: string, options?: CallOptions): Promise<SnapshotInfo>;
      delete(id: string, options?: CallOptions): Promise<void>;
  }
  export { SnapshotsAPI as SnapshotsNamespace };
  export interface StartOptions extends CommandOptions, OutputCallbacks {
  }
  export interface TemplateBuild {
      id: string;
      name: string;
      status: "queued" | "running" | "done" | "failed" | (string & {});
      error?: string;
      started_at: string;
      ended_at?: string;
      size_mb: number;
      bytes?: number;
  }
  export class TemplateBuildError extends PandaStackError {
      readonly build: TemplateBuild;
      constructor(message: string, build: TemplateBuild);
  }
  export interface TemplateBuildOptions {
      name: string;
      rootfs: string | Blob | Uint8Array | ArrayBuffer;
      sizeMb?: number;
      size_mb?: number;
      kernel?: string;
      filename?: string;
  }
  export interface TemplateDockerfileBuildOptions {
      name: string;
      dockerfile: string;
      context?: Record<string, string | Uint8Array>;
      sizeMb?: number;
      size_mb?: number;
      cpu?: number;
      memoryMb?: number;
      memory_mb?: number;
  }
  export interface TemplateInfo extends WireTemplateInfo {
      workspace?: string;
      label?: string;
      description?: string;
      category?: string;
      base?: string;
      tools?: string[];
      meta?: Record<string, unknown>;
  }
  export class TemplateNamespace {
      #private;
      private readonly client;
      constructor(client: Client);
      list(options?: CallOptions): Promise<TemplateInfo[]>;
      get(name: string, options?: CallOptions): Promise<TemplateInfo>;
      build(options: TemplateBuildOptions, limits?: CallOptions): Promise<TemplateBuild>;
      register(options: TemplateRegisterOptions, limits?: CallOptions): Promise<TemplateBuild>;
      buildFromDockerfile(options: TemplateDockerfileBuildOptions, limits?: CallOptions): Promise<TemplateBuild>;
      delete(name: string, options?: CallOptions): Promise<void>;
      builds(options?: CallOptions): Promise<TemplateBuild[]>;
      buildStatus(id: string, options?: CallOptions): Promise<TemplateBuild>;
      buildLogs(buildId: string, options?: {
          follow?: boolean;
      } & CallOptions): AsyncGenerator<string, void, undefined>;
      waitForBuild(buildId: string, options?: {
          intervalMs?: number;
          timeoutMs?: number;
          signal?: AbortSignal;
      }): Promise<TemplateBuild>;
  }
  export interface TemplateRegisterOptions {
      name: string;
      imageRef: string;
      sizeMb?: number;
      size_mb?: number;
      cpu?: number;
      memoryMb?: number;
      memory_mb?: number;
      kernel?: string;
  }
  export class TimeoutError extends NetworkError {
  }
  export type TokenInfo = {
      prefix: string;
      label?: string;
      created_at: string;
  };
  export class TokenNamespace {
      private readonly client;
      constructor(client: Client);
      list(options?: CallOptions): Promise<TokenInfo[]>;
      create(label?: string, options?: CallOptions): Promise<CreatedToken>;
      revoke(prefix: string, options?: CallOptions): Promise<void>;
  }
  export interface TransferOptions extends CallOptions {
      onProgress?: (progress: TransferProgress) => void;
  }
  export interface TransferProgress {
      path: string;
      files: number;
      totalFiles: number;
      bytes: number;
      totalBytes: number;
  }
  export interface VolumeInfo {
      name: string;
      size_mb: number;
      created_at?: string;
  }
  export class VolumesAPI {
      private readonly client;
      constructor(client: Client);
      create(options: {
          name: string;
          size_mb: number;
      }, call?: CallOptions): Promise<VolumeInfo>;
      list(options?: CallOptions): Promise<VolumeInfo[]>;
      get(name: string, options?: CallOptions): Promise<VolumeInfo>;
      delete(name: string, options?: CallOptions): Promise<void>;
  }
  export { VolumesAPI as VolumesNamespace };
  export interface WalkOptions extends CallOptions {
      followSymlinks?: boolean;
      onError?: (error: unknown, path: string) => void;
  }
  export interface WalkedDirectory {
      dir: string;
      dirs: FileInfo[];
      files: FileInfo[];
  }
  export { Client as default };
}

declare module "@pandastack/sdk/ai" {
  export class ClosedError extends Error {
      readonly name = "ClosedError";
      readonly code = "closed";
      constructor(tool: string);
  }
  export class CodeSession {
      #private;
      constructor(options: CodeSessionOptions);
      sandbox(): Promise<Sandbox>;
      context(): Promise<CodeContext>;
      run(code: string, options?: RunCodeOptions): Promise<Execution>;
      takeNotice(): string | undefined;
      close(): Promise<void>;
  }
  export interface RunCodeImage {
      mediaType: string;
      data: string;
  }
  export interface RunCodeInput {
      code: string;
  }
  export interface RunCodeOutput {
      text: string;
      status: RunCodeStatus;
      executionCount?: number;
      durationMs?: number;
      images?: RunCodeImage[];
  }
  export type RunCodeStatus = "running" | "ok" | "error" | "timed_out" | "interrupted" | "sandbox_gone";
  export type RunCodeTool = Tool<RunCodeInput, RunCodeOutput> & {
      readonly session: CodeSession;
      sessionFor(key: string | undefined): CodeSession;
      close(): Promise<void>;
      [Symbol.asyncDispose](): Promise<void>;
  };
  export interface RunCodeToolOptions {
      sandbox?: Sandbox;
      context?: CodeContext;
      create?: SandboxCreateOptions;
      client?: Client | ClientConfig;
      language?: string;
      name?: string;
      description?: string;
      timeoutSeconds?: number;
      maxOutputChars?: number;
      images?: boolean;
      onStdout?: (text: string, call: ToolCallInfo) => void | Promise<void>;
      onStderr?: (text: string, call: ToolCallInfo) => void | Promise<void>;
      onExecution?: (execution: Execution, call: ToolCallInfo) => void | Promise<void>;
      sessionKey?: (frameworkContext: any) => string | undefined;
      idleSeconds?: number;
      format?: (execution: Execution) => string;
  }
  export interface ToolCallInfo {
      toolCallId?: string | undefined;
  }
  export function runCodeTool(options?: RunCodeToolOptions): RunCodeTool;
}

declare module "@pandastack/sdk/mastra" {
  export class ClosedError extends Error {
      readonly name = "ClosedError";
      readonly code = "closed";
      constructor(tool: string);
  }
  export class CodeSession {
      #private;
      constructor(options: CodeSessionOptions);
      sandbox(): Promise<Sandbox>;
      context(): Promise<CodeContext>;
      run(code: string, options?: RunCodeOptions): Promise<Execution>;
      takeNotice(): string | undefined;
      close(): Promise<void>;
  }
  export interface RunCodeImage {
      mediaType: string;
      data: string;
  }
  export interface RunCodeInput {
      code: string;
  }
  export interface RunCodeOutput {
      text: string;
      status: RunCodeStatus;
      executionCount?: number;
      durationMs?: number;
      images?: RunCodeImage[];
  }
  export type RunCodeStatus = "running" | "ok" | "error" | "timed_out" | "interrupted" | "sandbox_gone";
  export type RunCodeTool = Tool<RunCodeInput, RunCodeOutput> & {
      readonly session: CodeSession;
      sessionFor(key: string | undefined): CodeSession;
      close(): Promise<void>;
      [Symbol.asyncDispose](): Promise<void>;
  };
  export interface RunCodeToolOptions {
      sandbox?: Sandbox;
      context?: CodeContext;
      create?: SandboxCreateOptions;
      client?: Client | ClientConfig;
      language?: string;
      name?: string;
      description?: string;
      timeoutSeconds?: number;
      maxOutputChars?: number;
      images?: boolean;
      onStdout?: (text: string, call: ToolCallInfo) => void | Promise<void>;
      onStderr?: (text: string, call: ToolCallInfo) => void | Promise<void>;
      onExecution?: (execution: Execution, call: ToolCallInfo) => void | Promise<void>;
      sessionKey?: (frameworkContext: any) => string | undefined;
      idleSeconds?: number;
      format?: (execution: Execution) => string;
  }
  export interface ToolCallInfo {
      toolCallId?: string | undefined;
  }
  export function runCodeTool(options?: RunCodeToolOptions): RunCodeTool;
}
