// Runs one call through 0.9.0 and through this package and compares what the server saw and what the caller got.
import * as ours from "@pandastack/sdk";
import * as theirs from "pandastack-sdk-0.9.0";
import { expect } from "vitest";
import { type Answer, ID, type Recorded, type RecordingServer } from "./recording-server.js";

/** What a row's call may use; typed as 0.9.0, because programs were written for it. */
export interface Subject {
  client: theirs.Client;
  sandbox: theirs.Sandbox;
  context: theirs.CodeContext;
  sdk: typeof theirs;
}

/** Which part of a row differs on purpose; `docs/migration.md` says why under `id`. */
export interface Deviation {
  id: string;
  parts: ("body" | "accept" | "contentType" | "authorization" | "requests" | "result" | "error")[];
}

/** One call. */
export interface Row {
  name: string;
  call: (subject: Subject) => unknown;
  /** By `GET /v1/x`; several are given one after the other, the last one again and again. */
  answers?: Record<string, Answer | Answer[]>;
  /** Configuration of the client beside address and key. */
  config?: theirs.ClientConfig;
  /** Added to the address. */
  prefix?: string;
  /** True: 0.9.0 rejects. */
  fails?: boolean;
  deviation?: Deviation;
}

const INFO = {
  id: ID,
  template: "code-interpreter",
  cpu: 2,
  memory_mb: 2048,
  status: "running",
  guest_ip: "127.21.0.26",
  metadata: { owner: "a" },
};

interface Outcome {
  requests: Recorded[];
  result?: unknown;
  error?: unknown;
}

export async function compare(server: RecordingServer, row: Row): Promise<void> {
  const [before, after] = [await run(server, row, theirs), await run(server, row, ours as unknown as typeof theirs)];
  // A row whose call fails by mistake would compare nothing.
  expect(before.error !== undefined, String(before.error)).toBe(row.fails ?? false);
  const parts = row.deviation?.parts ?? [];
  if (!parts.includes("requests")) expect(after.requests.map(route)).toEqual(before.requests.map(route));
  for (const [index, theirRequest] of before.requests.entries()) {
    const ourRequest = after.requests[index];
    if (!ourRequest) continue;
    if (!parts.includes("authorization")) expect(ourRequest.authorization).toBe(theirRequest.authorization);
    if (!parts.includes("body")) expect(ourRequest.body).toEqual(theirRequest.body);
    if (!parts.includes("accept")) expect(ourRequest.accept).toBe(theirRequest.accept);
    if (!parts.includes("contentType")) expect(ourRequest.contentType).toBe(expectedType(theirRequest));
  }
  if (!parts.includes("error")) expectSameError(before.error, after.error);
  if (!parts.includes("result")) expect(after.result).toEqual(before.result);
}

/** 0.9.0 sends an empty text where nothing is meant. */
function expectedType({ contentType, body }: Recorded): string | undefined {
  return contentType === "text/plain" && body === "" ? undefined : contentType;
}

function route({ method, path, query }: Recorded) {
  return { method, path, query };
}

async function run(server: RecordingServer, row: Row, sdk: typeof theirs): Promise<Outcome> {
  server.requests = [];
  server.answers = structuredClone(row.answers ?? {});
  const client = new sdk.Client({ apiUrl: server.url + (row.prefix ?? ""), apiKey: "pds_test", ...row.config });
  const sandbox = sdk.Sandbox.fromInfo(INFO, client);
  const context = new sdk.CodeContext(client, ID, "59e225ba2a0e28e8");
  try {
    const result = await plain(await row.call({ client, sandbox, context, sdk }));
    return { requests: server.requests, result };
  } catch (error) {
    return { requests: server.requests, error };
  }
}

/** A result as data that can be compared. */
async function plain(value: unknown): Promise<unknown> {
  if (Array.isArray(value)) return Promise.all(value.map(plain));
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString("latin1");
  if (typeof value !== "object" || value === null) return value;
  if (Symbol.asyncIterator in value) return collected(value as AsyncIterable<unknown>);
  if ("filesystem" in value && "info" in value) return value.info;
  if ("runCode" in value && "language" in value) return { id: (value as theirs.CodeContext).id, language: value.language };
  return JSON.parse(JSON.stringify(value));
}

async function collected(values: AsyncIterable<unknown>): Promise<unknown[]> {
  const list: unknown[] = [];
  for await (const value of values) list.push(value);
  return list;
}

/** Ours may be a subclass of theirs: code that catches theirs catches ours. */
function expectSameError(before: unknown, after: unknown): void {
  if (before === undefined || after === undefined) {
    expect(after).toEqual(before);
    return;
  }
  const { name, message, statusCode } = before as theirs.PandaStackError;
  const errorClass = (ours as unknown as Record<string, unknown>)[name];
  if (typeof errorClass === "function") expect(after).toBeInstanceOf(errorClass);
  expect(after).toMatchObject({ message, ...(statusCode === undefined ? {} : { statusCode }) });
}
