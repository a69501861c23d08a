/**
 * Types of the wire, generated from `crates/protocol` by `npm run build:types`, and the two that only the addon knows.
 */
export type * from './code_context.js'
export type * from './egress.js'
export type { ErrorBody, ErrorCode } from './error.js'
export type * from './event.js'
export type { Chunk, ExecEvent, ExecRequest, ExecResult as WireExecResult, ExitEvent } from './exec.js'
export type * from './file.js'
export type * from './fork.js'
export type * from './health.js'
export type * from './lifecycle.js'
export type * from './limits.js'
export type * from './sandbox.js'
export type * from './snapshot.js'
export type * from './template.js'
export type * from './token.js'

/** Options of the client, completed by the addon from the environment and the configuration file. */
export interface ClientOptions {
  apiUrl?: string
  apiKey?: string
  /** Milliseconds. */
  timeoutMs?: number
  /** Milliseconds. */
  capacityWaitMs?: number
  /** The `pandastack` binary. */
  binary?: string
  userAgent?: string
}

/** A call that failed and will be made again, as the addon tells it. */
export interface Retry {
  method: string
  path: string
  attempt: number
  delay_ms: number
  code: import('./error.js').ErrorCode
  status_code: number | null
  message: string
}

/** A call without a method of its own. */
export interface RawRequest {
  method: string
  path: string
  query: [string, string][]
  headers: [string, string][]
  /** Milliseconds. */
  timeoutMs?: number
}
