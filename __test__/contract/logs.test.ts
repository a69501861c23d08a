import { AbortError, InterruptedError, NotFoundError, ServerError } from "@pandastack/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Reply, ScriptedServer, silence, sse, stream } from "../support/scripted-server.js";

let server: ScriptedServer;
beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.stop());

const LOGS = "GET /v1/sandboxes/sb/logs";
const BUILD = "GET /v1/templates/builds/b/logs";

async function collected(lines: AsyncIterable<string>): Promise<string[]> {
  const list: string[] = [];
  for await (const line of lines) list.push(line);
  return list;
}

test("plain text in any pieces, with every line end", async () => {
  server.on(LOGS, stream("text/plain", ["a\r", "\nb\n\n", Buffer.from([0xc3]), Buffer.from([0xa9])]));
  expect(await collected(server.sandbox().logs())).toEqual(["a", "b", "", "é"]);
});

test("fault 2.3: events with CRLF are read", async () => {
  server.on(LOGS, sse(["data: a\r\n\r\n", "event: line\r\ndata: b\r", "\n\r\n"]));
  expect(await collected(server.sandbox().logs({ follow: true }))).toEqual(["a", "b"]);
});

test("fault 2.5: leaving the loop closes the connection", async () => {
  server.on(LOGS, sse(["data: a\n\n", "data: b\n\n", 60_000]));
  for await (const line of server.sandbox().logs({ follow: true })) {
    expect(line).toBe("a");
    break;
  }
  await server.until(() => server.sockets.size === 0);
});

test.each([
  ["a sandbox", LOGS, () => server.sandbox().logs({ follow: true })],
  ["a build", BUILD, () => server.client().templates.buildLogs("b")],
  ["a deployment", "GET /v1/apps/a/deploys/d/logs", () => server.client().apps.deployLogs("a", "d")],
])("leaving the log of %s ends it at once, also while no line comes", async (_, route, open) => {
  const empty: Reply = (response) => response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
  for (const reply of [empty, silence]) {
    server.on(route, reply);
    const lines = open();
    const next = lines.next();
    await server.until(() => server.sockets.size > 0);
    expect(await lines.return()).toEqual({ done: true, value: undefined });
    expect(await next).toEqual({ done: true, value: undefined });
    expect(await lines.next()).toEqual({ done: true, value: undefined });
    await server.until(() => server.sockets.size === 0);
  }
});

test("a log that is left before its first line asks for nothing", async () => {
  await server.sandbox().logs({ follow: true }).return();
  expect(server.requests).toHaveLength(0);
});

test("an abort ends the loop and closes the connection", async () => {
  server.on(LOGS, sse(["data: a\n\n", 60_000]));
  const controller = new AbortController();
  const lines = server.sandbox().logs({ follow: true, signal: controller.signal });
  expect((await lines.next()).value).toBe("a");
  const next = lines.next();
  controller.abort(new Error("enough"));
  await expect(next).rejects.toBeInstanceOf(AbortError);
  await server.until(() => server.sockets.size === 0);
});

test("fault 2.4: a time limit ends a log that stands still", async () => {
  server.on(LOGS, sse(["data: a\n\n", 60_000]));
  await expect(collected(server.sandbox().logs({ follow: true, timeoutMs: 150 }))).rejects.toMatchObject({
    name: "TimeoutError",
  });
});

test("fault 2.7: refusals have their class", async () => {
  server.on(LOGS, (response) => response.writeHead(404, { "content-type": "application/json" }).end('{"error":"gone"}'));
  await expect(collected(server.sandbox().logs())).rejects.toBeInstanceOf(NotFoundError);
});

test("fault 2.8: the prefix of an address is kept", async () => {
  server.on("GET /base/v1/sandboxes/sb/logs", stream("text/plain", ["a"]));
  expect(await collected(server.sandbox({ apiUrl: `${server.url}/base` }).logs())).toEqual(["a"]);
});

test("fault 2.11: lines may say anything; only the event's name ends a log", async () => {
  server.on(BUILD, sse(['data: end\n\ndata: event: done\n\ndata: {"error":"mine"}\n\n', "event: done\ndata: end\n\n"]));
  expect(await collected(server.client().templates.buildLogs("b"))).toEqual(["end", "event: done", '{"error":"mine"}']);
});

test("a build's log that is cut is not taken for a whole one", async () => {
  server.on(BUILD, sse(["data: a\n\n"]));
  await expect(collected(server.client().templates.buildLogs("b"))).rejects.toBeInstanceOf(InterruptedError);
  expect(await collected(server.client().templates.buildLogs("b", { follow: false }))).toEqual(["a"]);
  server.on(BUILD, sse(["data: a\n\n"], true));
  await expect(collected(server.client().templates.buildLogs("b", { follow: false }))).rejects.toBeInstanceOf(InterruptedError);
});

test("an error event is an error", async () => {
  server.on(LOGS, sse(["data: a\n\n", "event: error\ndata: cannot be opened\n\n"]));
  const error = await collected(server.sandbox().logs({ follow: true })).catch((error) => error);
  expect(error).toBeInstanceOf(ServerError);
  expect(error.message).toBe("cannot be opened");
});
