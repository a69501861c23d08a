// Every kind of call against every way in which a connection or an answer can go wrong.
import { CodeContext, InterruptedError, NetworkError, PandaStackError, TimeoutError } from "@pandastack/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { json, type Reply, ScriptedServer, silence, sse, stream } from "../support/scripted-server.js";

let server: ScriptedServer;
beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.stop());

type Kind = "json" | "events" | "cell" | "bytes" | "upload" | "lines";
interface Call {
  kind: Kind;
  route: string;
  /** Starts the call; `timeoutMs` is the client's, `signal` ends what has no limit of the client's. */
  start: (timeoutMs?: number, signal?: AbortSignal) => Promise<unknown>;
}

const SANDBOX = "/v1/sandboxes/sb";
const sandbox = (timeoutMs?: number) => server.sandbox(timeoutMs ? { timeoutMs } : {});
async function* pieces() {
  for (let count = 0; count < 64; count += 1) yield new Uint8Array(64 * 1024);
}
async function collected(lines: AsyncIterable<string>) {
  const list: string[] = [];
  for await (const line of lines) list.push(line);
  return list;
}

const calls: Record<string, Call> = {
  "sandboxes.get": { kind: "json", route: `GET ${SANDBOX}`, start: (ms) => sandbox(ms).refresh() },
  "sandboxes.list": {
    kind: "json",
    route: "GET /v1/sandboxes",
    start: (ms) => server.client(ms ? { timeoutMs: ms } : {}).sandboxes.list(),
  },
  "volumes.list": {
    kind: "json",
    route: "GET /v1/volumes",
    start: (ms) => server.client(ms ? { timeoutMs: ms } : {}).volumes.list(),
  },
  exec: { kind: "json", route: `POST ${SANDBOX}/exec`, start: (ms) => sandbox(ms).exec("x") },
  snapshot: { kind: "json", route: `POST ${SANDBOX}/snapshots`, start: (ms) => sandbox().snapshot(ms ? { timeoutMs: ms } : {}) },
  createCodeContext: {
    kind: "json",
    route: `POST ${SANDBOX}/repl/sessions`,
    start: (ms) => sandbox().createCodeContext(ms ? { timeoutMs: ms } : {}),
  },
  execStream: {
    kind: "events",
    route: `POST ${SANDBOX}/exec/stream`,
    start: (_, signal) => sandbox().execStream("x", signal ? { signal } : {}),
  },
  "commands.start": {
    kind: "events",
    route: `POST ${SANDBOX}/exec/stream`,
    start: async (_, signal) => (await sandbox().commands.start("x", signal ? { signal } : {})).wait(),
  },
  runCode: {
    kind: "cell",
    route: `POST ${SANDBOX}/repl/sessions/ctx/run`,
    start: (_, signal) => new CodeContext(server.client(), "sb", "ctx").runCode("x", signal ? { signal } : {}),
  },
  "filesystem.readBytes": { kind: "bytes", route: `GET ${SANDBOX}/fs`, start: (ms) => sandbox(ms).filesystem.readBytes("/a") },
  "filesystem.write": { kind: "json", route: `PUT ${SANDBOX}/fs`, start: (ms) => sandbox(ms).filesystem.write("/a", "b") },
  "filesystem.write of a stream": {
    kind: "upload",
    route: `PUT ${SANDBOX}/fs`,
    start: (ms) => sandbox().filesystem.write("/a", pieces(), ms ? { timeoutMs: ms } : {}),
  },
  "templates.buildLogs": {
    kind: "lines",
    route: "GET /v1/templates/builds/b/logs",
    start: (_, signal) => collected(server.client().templates.buildLogs("b", signal ? { signal } : {})),
  },
};
const streams: Kind[] = ["events", "cell", "lines"];

async function failure(start: Promise<unknown>): Promise<PandaStackError> {
  const error = await start.then(
    (value) => new Error(`it did not fail: ${JSON.stringify(value)}`),
    (error) => error,
  );
  expect(error).toBeInstanceOf(PandaStackError);
  return error;
}

const reset: Reply = (response) => response.socket?.resetAndDestroy();
const half: Reply = (response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
  response.write('{"id":');
};

describe.each(Object.entries(calls))("%s", (_, { kind, route, start }) => {
  const isStream = streams.includes(kind);
  const isRead = route.startsWith("GET ") && kind !== "bytes";

  test("no server", async () => {
    await server.stop();
    const error = await failure(start());
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.message).toContain("cannot be reached");
    server = await ScriptedServer.start();
  });

  test("a connection that is reset before the answer", async () => {
    server.on(route, reset);
    expect(await failure(start())).toBeInstanceOf(NetworkError);
    if (!isRead && kind !== "bytes" && route.startsWith("POST")) expect(server.seen(route)).toHaveLength(1);
    expect(server.seen(route).length).toBeLessThanOrEqual(3);
  });

  test("a connection that is reset after the head of the answer", async () => {
    server.on(route, async (response, request) => {
      half(response, request);
      await new Promise((resolve) => setTimeout(resolve, 30));
      reset(response, request);
    });
    expect(await failure(start())).toBeInstanceOf(isStream && kind !== "cell" ? InterruptedError : NetworkError);
  });

  test("a server that never answers", async () => {
    server.on(route, silence);
    const error = await failure(isStream ? start(undefined, AbortSignal.timeout(150)) : start(150));
    if (isStream) expect(error).toMatchObject({ name: "AbortError", cause: { name: "TimeoutError" } });
    else expect(error).toBeInstanceOf(TimeoutError);
    await server.until(() => server.sockets.size === 0);
  });

  test("an answer that stands still", async () => {
    server.on(route, half);
    const error = await failure(isStream ? start(undefined, AbortSignal.timeout(150)) : start(150));
    if (isStream) expect(error.name).toBe("AbortError");
    else expect(error).toBeInstanceOf(TimeoutError);
    await server.until(() => server.sockets.size === 0);
  });

  test("redirects without an end, and one to nowhere", async () => {
    server.on(route, (response, request) => response.writeHead(307, { location: request.path }).end());
    expect(await failure(start())).toBeInstanceOf(NetworkError);
    server.on(route, (response) => response.writeHead(304).end());
    expect(await failure(start())).toMatchObject({ statusCode: 304 });
  });

  test.runIf(kind !== "bytes")("a page, nothing, and half an answer where an answer is due", async () => {
    for (const reply of [
      (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>login</html>"),
      (response) => response.writeHead(204).end(),
      (response) => response.writeHead(200, { "content-type": "application/json" }).end('{"id":"sb","cpu":'),
      json("text"),
    ] as Reply[]) {
      server.on(route, reply);
      // A list may be nothing at all.
      if (route.startsWith("GET ") && kind === "json") {
        await start().then(
          (value) => expect(value).toEqual([]),
          (error) => expect(error).toBeInstanceOf(NetworkError),
        );
      } else if (kind === "lines") {
        await start().catch((error) => expect(error).toBeInstanceOf(NetworkError));
      } else expect(await failure(start())).toBeInstanceOf(NetworkError);
    }
  });
});

test("what the type of an answer says does not matter", async () => {
  const EXEC = "POST /v1/sandboxes/sb/exec";
  server.on(EXEC, stream("text/html", ['{"stdout":"a","stderr":"","exit_code":0}']));
  expect((await server.sandbox().exec("x")).stdout).toBe("a");
  server.on(`${EXEC}/stream`, stream("application/json", ['event: exit\ndata: {"exit_code":4}\n\n']));
  expect(await server.sandbox().execStream("x")).toBe(4);
});

test("a reset during a stream keeps what had arrived", async () => {
  server.on("POST /v1/sandboxes/sb/exec/stream", async (response, request) => {
    await sse(['event: stdout\ndata: {"chunk":"so far"}\n\n', 200])(
      Object.assign(response, { end: () => response.socket?.resetAndDestroy() }),
      request,
    );
  });
  expect(await failure(server.sandbox().execStream("x"))).toMatchObject({ name: "InterruptedError", stdout: "so far" });
});
