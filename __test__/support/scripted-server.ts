// A server whose every answer a test writes, down to the pieces in which it arrives.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, type ClientConfig, Sandbox } from "@pandastack/sdk";

/** A request as it arrived. */
export interface SeenRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Answers one request. */
export type Reply = (response: ServerResponse, request: SeenRequest) => unknown;

/** JSON with a status. */
export const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Reply =>
  (response) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));

/** A stream whose pieces are sent one by one. `cut`: the connection breaks after the last. */
export const stream =
  (contentType: string, pieces: (string | Buffer | number)[], cut = false): Reply =>
  async (response) => {
    response.writeHead(200, { "content-type": contentType });
    response.flushHeaders();
    for (const piece of pieces) {
      if (typeof piece === "number") await sleep(piece);
      else {
        response.write(piece);
        await sleep(2);
      }
    }
    if (cut) response.destroy();
    else response.end();
  };

export const sse = (pieces: (string | Buffer | number)[], cut = false) => stream("text/event-stream; charset=utf-8", pieces, cut);
export const ndjson = (events: object[], cut = false) =>
  stream(
    "application/x-ndjson",
    events.map((event) => `${JSON.stringify(event)}\n`),
    cut,
  );

/** The last event of a cell that went well. */
export const END = { type: "end", status: "ok", execution_count: 1, exit_code: 0, duration_ms: 5 };

/** Never answers. */
export const silence: Reply = () => {};

export class ScriptedServer {
  /** Requests in order of their arrival. */
  readonly requests: SeenRequest[] = [];
  /** Connections that are open. */
  readonly sockets = new Set<Socket>();
  private readonly raws = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>();
  private otherwise: Reply | undefined;
  private readonly replies = new Map<string, Reply[]>();

  /** Address, also after the server has stopped. */
  url = "";

  private constructor(private readonly server: Server) {}

  /** Listens on a port, or on a unix socket as the local engine does. */
  static async start(socketPath?: string): Promise<ScriptedServer> {
    const server = createServer((request, response) => {
      const raw = scripted.raws.get(`${request.method} ${request.url?.split("?")[0]}`);
      if (raw) return raw(request, response);
      const pieces: Buffer[] = [];
      request.on("data", (piece) => pieces.push(piece));
      request.on("end", () => {
        const { pathname, searchParams } = new URL(request.url ?? "", "http://test");
        const { method = "", headers } = request;
        scripted.answer({ method, path: pathname, query: searchParams, headers, body: Buffer.concat(pieces) }, response);
      });
    });
    const scripted = new ScriptedServer(server);
    server.on("connection", (socket) => {
      scripted.sockets.add(socket);
      socket.on("close", () => scripted.sockets.delete(socket));
    });
    const where = socketPath === undefined ? { port: 0, host: "127.0.0.1" } : { path: socketPath };
    await new Promise<void>((resolve) => server.listen(where, resolve));
    scripted.url = socketPath === undefined ? `http://127.0.0.1:${(server.address() as AddressInfo).port}` : `unix:${socketPath}`;
    return scripted;
  }

  /** Answers `route` (`GET /v1/x`) with these replies in order; the last one is repeated. */
  on(route: string, ...replies: Reply[]): this {
    this.replies.set(route, replies);
    return this;
  }

  /** Hands requests of `route` over before their body is read. */
  raw(route: string, handler: (request: IncomingMessage, response: ServerResponse) => void): this {
    this.raws.set(route, handler);
    return this;
  }

  /** Answers every route that has no replies of its own. */
  onAny(reply: Reply): this {
    this.otherwise = reply;
    return this;
  }

  client(config: ClientConfig = {}): Client {
    return new Client({ apiUrl: this.url, apiKey: "pds_test", ...config });
  }

  /** A sandbox with id `sb` on this server, without a request. */
  sandbox(config: ClientConfig = {}): Sandbox {
    const info = { id: "sb", template: "code-interpreter", cpu: 1, memory_mb: 512, status: "running" as const };
    return Sandbox.fromInfo(info, this.client(config));
  }

  /** Requests of one route. */
  seen(route: string): SeenRequest[] {
    return this.requests.filter((request) => `${request.method} ${request.path}` === route);
  }

  /** Waits until `condition` holds. */
  async until(condition: () => boolean): Promise<void> {
    for (let tries = 0; !condition(); tries += 1) {
      if (tries > 500) throw new Error("what the test waits for does not happen");
      await sleep(10);
    }
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private answer(request: SeenRequest, response: ServerResponse): void {
    this.requests.push(request);
    const replies = this.replies.get(`${request.method} ${request.path}`);
    const reply = replies && replies.length > 1 ? replies.shift() : replies?.[0];
    if (reply ?? this.otherwise) void (reply ?? this.otherwise)?.(response, request);
    else json({ error: `no such route: ${request.method} ${request.path}` }, 404)(response, request);
  }
}
