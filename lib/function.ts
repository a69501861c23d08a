/**
 * Functions: code that the server keeps and runs on demand.
 */

/** Language of a function. */
export type FunctionRuntime = "python" | "nodejs";

/** A function. */
export interface FunctionInfo {
  /** UUID. */
  id: string;
  /** Workspace that owns it. */
  workspace: string;
  /** Name. */
  name: string;
  /** Language. */
  runtime: FunctionRuntime;
  /** File that runs. */
  entrypoint: string;
  /** Size of the code in bytes. */
  code_size: number;
  /** Template of its sandbox. */
  template?: string;
  /** Environment. */
  env?: Record<string, string>;
  /** True: anybody may call its address. */
  public: boolean;
  /** The same as `url`. */
  endpoint?: string;
  /** Address of a public function. */
  url?: string;
  /** Where the server keeps the code. */
  gcs_path?: string;
  /** Counts deployments. */
  version?: number;
  /** True: it can be called. */
  is_ready?: boolean;
  /** RFC 3339. */
  created_at: string;
  /** RFC 3339. */
  updated_at: string;
}

/** One run of a function. */
export interface FunctionRun {
  /** UUID. */
  id: string;
  /** Workspace that owns it. */
  workspace: string;
  /** Function that ran. */
  function_id: string;
  /** Schedule that started it. */
  schedule_id?: string | null;
  /** Sandbox that it ran in. */
  sandbox_id?: string | null;
  /** How it went. */
  status: "queued" | "running" | "success" | "error" | "timeout" | (string & {});
  /** Exit code. */
  exit_code?: number | null;
  /** Standard output. */
  stdout?: string;
  /** Standard error. */
  stderr?: string;
  /** Wall-clock time in milliseconds. */
  duration_ms?: number;
  /** RFC 3339. */
  started_at: string;
  /** RFC 3339. */
  ended_at?: string | null;
}

/** The same as {@link FunctionRun}. */
export type FunctionRunInfo = FunctionRun;

/** Options of {@link FunctionsAPI.create}. */
export interface FunctionCreateOptions {
  /** File that runs. Default `handler.py` or `index.js`. */
  entrypoint?: string;
  /** Environment. */
  env?: Record<string, string>;
  /** Template of its sandbox. Default `code-interpreter`. */
  template?: string;
  /** True: anybody may call its address. Default false. */
  public?: boolean;
}

/** A function to make, in one object. */
export interface FunctionDeployOptions extends FunctionCreateOptions {
  /** Name. */
  name: string;
  /** Language. */
  runtime: FunctionRuntime;
  /** Code of the file that runs. */
  code: string | Buffer | Uint8Array;
}

/** What {@link FunctionsAPI.update} changes. */
export interface FunctionUpdateOptions {
  /** Name. */
  name?: string;
  /** Environment; replaces the whole of it. */
  env?: Record<string, string>;
  /** True: anybody may call its address. */
  public?: boolean;
  /** File that runs. */
  entrypoint?: string;
}

/** Figures about the runs of a function. */
export interface FunctionMetrics {
  /** Time that they cover, such as `24h`. */
  period: string;
  /** Runs. */
  total: number;
  /** Runs that failed. */
  errors: number;
  /** Failed runs by all runs, 0 to 1. */
  error_rate: number;
  /** Median duration in milliseconds. */
  p50_ms: number;
  /** 95th percentile in milliseconds. */
  p95_ms: number;
  /** 99th percentile in milliseconds. */
  p99_ms: number;
  /** Runs that had to start a sandbox by all runs, 0 to 1. */
  cold_start_rate: number;
}
