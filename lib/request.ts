/**
 * Calls that have no method of their own.
 */
import { NetworkError } from "./errors.js";

/** Whatever `fetch` takes as a body. */
export type RequestBody = NonNullable<ConstructorParameters<typeof Response>[0]>;

/** Whatever `fetch` takes as headers. */
export type RequestHeaders = NonNullable<ConstructorParameters<typeof Headers>[0]>;

/** Options of {@link Client.request}. */
export interface RequestOptions {
  /** Query parameters; undefined ones are left out. */
  query?: Record<string, string | number | boolean | undefined>;
  /** Body, sent as JSON. */
  json?: unknown;
  /** Body, sent as it is; a form is encoded. `json` comes first. */
  body?: RequestBody;
  /** Further headers. */
  headers?: RequestHeaders;
  /** Time limit in milliseconds. Default: the client's. */
  timeoutMs?: number;
  /** How the answer is read. Default `json`. */
  parseAs?: "json" | "text" | "none";
  /** Has no effect: only calls that change nothing more the second time are repeated. */
  noRetry?: boolean;
  /** Aborts the call. */
  signal?: AbortSignal;
}

/** @internal Bytes and content type. */
export async function bodyOf(
  json: unknown,
  body: RequestBody | undefined,
  headers: Headers,
): Promise<[Uint8Array | null, string | null]> {
  const named = headers.get("content-type");
  headers.delete("content-type");
  if (json !== undefined) return [Buffer.from(JSON.stringify(json)), named ?? "application/json"];
  if (body === undefined) return [null, null];
  if (body instanceof Uint8Array) return [body, named ?? "application/octet-stream"];
  const encoded = new Response(body);
  const contentType = named ?? encoded.headers.get("content-type") ?? "application/octet-stream";
  return [new Uint8Array(await encoded.arrayBuffer()), contentType];
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
