/**
 * Calls that have no method of their own.
 */
import { InvalidOptionError, NetworkError } from "./errors.js";

/** Options of {@link Client.request}. */
export interface RequestOptions {
  /** Query parameters; undefined ones are left out. */
  query?: Record<string, string | number | boolean | undefined>;
  /** Body, sent as JSON. */
  json?: unknown;
  /** Body, sent as it is. `json` comes first. */
  body?: string | Uint8Array;
  /** Further headers. */
  headers?: Record<string, string>;
  /** Time limit in milliseconds. Default: the client's. */
  timeoutMs?: number;
  /** How the answer is read. Default `json`. */
  parseAs?: "json" | "text" | "none";
  /** Has no effect: only calls that change nothing are repeated. */
  noRetry?: boolean;
  /** Aborts the call. */
  signal?: AbortSignal;
}

/** @internal Bytes and content type. */
export function bodyOf({ json, body, headers = {} }: RequestOptions): [Uint8Array | null, string | null] {
  if (json !== undefined) return [Buffer.from(JSON.stringify(json)), "application/json"];
  if (body === undefined) return [null, null];
  const named = Object.entries(headers).find(([name]) => name.toLowerCase() === "content-type")?.[1];
  if (typeof body === "string") return [Buffer.from(body), named ?? "text/plain;charset=UTF-8"];
  if (body instanceof Uint8Array) return [body, named ?? "application/octet-stream"];
  throw new InvalidOptionError("request: option `body` must be a string or bytes");
}

/** @internal The answer as the caller wants it. */
export function decoded(answer: Buffer, parseAs: RequestOptions["parseAs"]): unknown {
  if (parseAs === "none" || (parseAs === "json" && answer.length === 0)) return undefined;
  const text = answer.toString("utf8");
  if (parseAs === "text") return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new NetworkError(`the server's answer is not JSON: \`${text.slice(0, 100)}\``, undefined, { cause: error, body: text });
  }
}
