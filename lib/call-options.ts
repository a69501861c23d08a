/** Options of every asynchronous call. */
export interface CallOptions {
  /** Aborts the call. */
  signal?: AbortSignal;
  /** Time limit of the call in milliseconds, all tries included; replaces the one that the call has by itself. */
  timeoutMs?: number;
}

/** @internal The same after its check. */
export interface CallControl {
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
}
