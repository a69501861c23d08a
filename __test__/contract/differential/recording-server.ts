// Answers as the open-source server did and notes what it was asked.
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** What a program can see of a request. */
export interface Recorded {
  method: string;
  path: string;
  query: Record<string, string>;
  authorization: string | undefined;
  accept: string | undefined;
  contentType: string | undefined;
  body: unknown;
}

/** An answer. */
export interface Answer {
  status: number;
  type?: string | null;
  body?: string;
  headers?: Record<string, string>;
  /** How long the server thinks first. */
  delayMs?: number;
}

const recorded: Record<string, Answer> = JSON.parse(
  readFileSync(new URL("../../fixtures/replies.json", import.meta.url), "utf8"),
).replies;

/** Id that stands for every id. */
export const ID = "28ba7ca0-10d0-4037-ac55-70e8a4077dd6";

export class RecordingServer {
  requests: Recorded[] = [];
  /** Answers of one row, by `GET /v1/x`; they come before the recorded ones. */
  answers: Record<string, Answer | Answer[]> = {};
  url = "";

  private constructor(private readonly server: Server) {}

  static async start(): Promise<RecordingServer> {
    const server = createServer(async (request, response) => {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      const url = new URL(request.url ?? "", "http://test");
      const { headers, method = "" } = request;
      const contentType = headers["content-type"];
      recording.requests.push({
        method,
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        authorization: headers.authorization,
        accept: headers.accept,
        contentType: contentType?.split(";")[0],
        body: await readable(Buffer.concat(pieces), contentType),
      });
      const { status, type, body, headers: more, delayMs } = recording.#answer(`${method} ${url.pathname}`);
      if (delayMs) await sleep(delayMs);
      response.writeHead(status, { ...(type ? { "content-type": type } : {}), ...more }).end(body);
    });
    const recording = new RecordingServer(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    recording.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return recording;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #answer(route: string): Answer {
    const own = this.answers[route];
    const next = Array.isArray(own) && own.length > 1 ? own.shift() : [own].flat()[0];
    if (next) return next;
    const found = Object.keys(recorded).find((pattern) => fits(pattern, route));
    return recorded[found ?? ""] ?? { status: 404, type: "application/json", body: `{"error":"no such route: ${route}"}` };
  }
}

function fits(pattern: string, route: string): boolean {
  const [wanted, given] = [pattern.split("/"), route.split("/")];
  return wanted.length === given.length && wanted.every((part, index) => part === "{id}" || part === given[index]);
}

/** A body as data: JSON parsed, forms as their fields. */
async function readable(body: Buffer, contentType: string | undefined): Promise<unknown> {
  if (contentType?.startsWith("multipart/form-data")) {
    const form = await new Response(new Uint8Array(body), { headers: { "content-type": contentType } }).formData();
    return Promise.all([...form].map(async ([name, value]) => [name, await field(value)]));
  }
  const text = body.toString("utf8");
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function field(value: string | File): Promise<unknown> {
  return typeof value === "string" ? value : { name: value.name, type: value.type, text: await value.text() };
}
