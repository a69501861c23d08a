/** Options of every asynchronous call. */
export interface CallOptions {
  /** Aborts the call. */
  signal?: AbortSignal;
}
