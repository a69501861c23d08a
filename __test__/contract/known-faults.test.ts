// Faults that are known of 0.9.0 and have no place in the tests of one noun. What the numbers mean: docs/testing.md.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { CodeContext, ExploreError, PandaStackError, SandboxTimeout } from "@pandastack/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { END, json, ndjson, type Reply, ScriptedServer, silence, sse } from "../support/scripted-server.js";

let server: ScriptedServer;
beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.stop());

const SANDBOX = "/v1/sandboxes/sb";
const EXEC = `POST ${SANDBOX}/exec`;
const RUN = `POST ${SANDBOX}/repl/sessions/ctx/run`;
const exit = 'event: exit\ndata: {"exit_code":0}\n\n';
const context = (config = {}) => new CodeContext(server.client(config), "sb", "ctx");
const late =
  (reply: Reply, milliseconds: number): Reply =>
  async (response, request) => {
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    reply(response, request);
  };
const failure = (started: Promise<unknown>) =>
  started.then(
    () => undefined,
    (error) => error,
  );

test("fault 2.1: text that a broken server appends to a stream is no end of it", async () => {
  server.on(`${EXEC}/stream`, sse(['event: stdout\ndata: {"chunk":"a"}\n\n{"error":"internal server error"}\n']));
  expect(await failure(server.sandbox().execStream("x"))).toMatchObject({ name: "InterruptedError", stdout: "a" });
});

test("fault 2.4: a stream that stands still ends with its signal", async () => {
  server.on(`${EXEC}/stream`, sse(['event: stdout\ndata: {"chunk":"a"}\n\n', 60_000]));
  const error = await failure(server.sandbox().execStream("x", { signal: AbortSignal.timeout(100) }));
  expect(error).toMatchObject({ name: "AbortError", stdout: "a", cause: { name: "TimeoutError" } });
  await server.until(() => server.sockets.size === 0);
});

describe("fault 2.10: a streamed command", () => {
  test("fault 2.10: waits for a sandbox that warms up", async () => {
    server.on(`${EXEC}/stream`, json({ error: "dial tcp 10.0.0.2:22: connect: connection refused" }, 500), sse([exit]));
    expect(await server.sandbox().execStream("x")).toBe(0);
  });

  test("fault 2.10: has a result with all of its output, and can be ended", async () => {
    server.on(`${EXEC}/stream`, sse(['event: stdout\ndata: {"chunk":"a"}\n\n', exit]));
    const command = await server.sandbox().commands.start("x");
    expect(await command.wait()).toMatchObject({ stdout: "a", stderr: "", exitCode: 0 });
    command.kill();
  });
});

test("fault 2.13: a cell's own time limit outlasts the client's", async () => {
  server.on(RUN, late(ndjson([{ type: "stdout", text: "late" }, END]), 400));
  expect((await context({ timeoutMs: 100 }).runCode("x", { timeoutSeconds: 1 })).stdout).toBe("late");
});

test("fault 2.14: killing what is gone is no error and one request", async () => {
  await server.sandbox().kill();
  expect(server.requests).toHaveLength(1);
});

test("fault 2.16: too many requests have a class and say how long to wait", async () => {
  server.on("POST /v1/volumes", json({ error: "slow down" }, 429, { "retry-after": "7" }));
  const error = await failure(server.client().volumes.create({ name: "v", size_mb: 1 }));
  expect(error).toMatchObject({ name: "RateLimitError", statusCode: 429, retryAfter: 7 });
});

test.each(["pause", "resume", "hibernate", "wake", "snapshot", "fork"] as const)(
  "fault 2.20: %s sends no body and names no type of one",
  async (name) => {
    const route = `POST ${SANDBOX}/${name === "snapshot" ? "snapshots" : name}`;
    server.on(route, json({ id: "x", children: ["a"] }));
    await server.sandbox()[name]();
    const [request] = server.seen(route);
    expect(request?.headers["content-length"] === "0" || request?.body.toString() === "{}").toBe(true);
    expect(request?.headers["content-type"]).toBe(request?.body.length === 0 ? undefined : "application/json");
  },
);

describe("fault 2.21: errors", () => {
  test("fault 2.21: tell the request, the server's name for it, the cause, and the body as often as one asks", async () => {
    server.on(`GET ${SANDBOX}`, json({ error: "no" }, 400, { "x-request-id": "r1" }));
    const error = await failure(server.sandbox().refresh());
    expect(error).toMatchObject({ code: "bad_request", requestId: "r1", method: "GET", url: `${server.url}${SANDBOX}` });
    for (const _ of [1, 2]) expect(await error.response.json()).toEqual({ error: "no" });
    expect(server.requests[0]?.headers["user-agent"]).toMatch(/^pandastack-sdk\//);
    await server.stop();
    expect((await failure(server.sandbox().refresh())).cause).toBeInstanceOf(Error);
  });

  test("fault 2.21: are all of one family", async () => {
    expect(new ExploreError("x")).toBeInstanceOf(PandaStackError);
    expect(new ExploreError("x").name).toBe("ExploreError");
    const client = server.client();
    const failures = [client.functions.getCode("x"), client.functions.deployBundle("x", new Uint8Array([1]))];
    for (const each of failures) expect(await failure(each)).toMatchObject({ name: "NotFoundError", statusCode: 404 });
    server.on("GET /v1/databases/d", json({ id: "d", status: "failed", error: "no disk" }));
    expect(await failure(client.databases.waitUntilReady("d"))).toBeInstanceOf(PandaStackError);
  });
});

test("fault 2.22: no message repeats a whole command or code", async () => {
  const secret = `${"x".repeat(400)}SECRET`;
  server.on(EXEC, json({ stdout: "", stderr: "", exit_code: 7 }));
  const failed = await failure(server.sandbox().exec(`echo ${secret}`, { check: true }));
  expect(failed.message).toMatch(/^command exited with code 7: echo xxx/);
  expect(failed.message.length).toBeLessThan(300);
  expect(failed.message).not.toContain("SECRET");
  server.on(RUN, json({ error: "cell timeout after 1s" }, 500));
  const late = await failure(context().runCode(secret));
  expect(late).toBeInstanceOf(SandboxTimeout);
  expect(late.message).not.toContain("xxx");
});

describe("fault 2.23: the configuration file", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "pandastack-home-"));
  });
  afterEach(() => rmSync(home, { recursive: true }));

  test.each([
    ["api_url", ".config", { HOME: "" }],
    ["apiUrl", "elsewhere", { XDG_CONFIG_HOME: "elsewhere" }],
  ])("fault 2.23: names the server as `%s` in %s", async (key, folder, names) => {
    mkdirSync(join(home, folder, "pandastack"), { recursive: true });
    writeFileSync(
      join(home, folder, "pandastack/config.json"),
      JSON.stringify({ [key]: "http://from-the-file.example", token: "t" }),
    );
    const env = Object.fromEntries(Object.entries(names).map(([name, value]) => [name, join(home, value)]));
    const main = JSON.stringify(new URL("../..", import.meta.url).pathname);
    const program = `const { apiUrl, apiKey } = new (require(${main}).Client)(); console.log(apiUrl, apiKey)`;
    const { stdout } = await promisify(execFile)(process.execPath, ["-e", program], {
      env: { PATH: process.env.PATH, HOME: home, ...env },
    });
    expect(stdout.trim()).toBe("http://from-the-file.example t");
  });
});

describe("what a cell showed", () => {
  test("fault 2.29: lists of lines are joined and objects stay JSON", async () => {
    const results = [{ "text/plain": ["a\n", "b"], "application/json": { a: [1] } }];
    server.on(RUN, json({ stdout: ["a", "b"], stderr: null, results }));
    const execution = await context().runCode("x");
    expect([execution.stdout, execution.results[0]?.text, execution.results[0]?.json]).toEqual(["ab", "a\nb", { a: [1] }]);
  });

  test("fault 2.30: the text is the value, not what was shown first", async () => {
    const shows = (text: string, is_main: boolean) => ({ type: "result", data: { "text/plain": text }, is_main });
    server.on(RUN, ndjson([shows("first", false), shows("value", true), shows("later", false), END]));
    const { text, results } = await context().runCode("x");
    expect([text, results.map(({ isMain }) => isMain)]).toEqual(["value", [false, true, false]]);
  });

  test("fault 2.31: all types of one output are one result", async () => {
    server.on(RUN, ndjson([{ type: "result", data: { "text/plain": "t", "image/png": "AAAA" }, is_main: true }, END]));
    const { results, png, text } = await context().runCode("x");
    expect([results.length, results[0]?.png, results[0]?.text, png, text]).toEqual([1, "AAAA", "t", "AAAA", "t"]);
  });
});

test("fault 2.38: a context has longer than other calls, and no limit is rounded to none", async () => {
  server.on(`POST ${SANDBOX}/repl/sessions`, late(json({ id: "ctx" }, 201), 300)).on(RUN, ndjson([END]));
  const created = await server.sandbox({ timeoutMs: 50 }).createCodeContext();
  await created.runCode("x", { timeoutSeconds: 0.0004 });
  expect(JSON.parse(server.seen(RUN)[0]?.body.toString() ?? "").timeout_ms).toBe(1);
});

test("fault 2.41: info follows what is known", async () => {
  const info = { id: "sb", template: "t", cpu: 1, memory_mb: 1 };
  server
    .on(`POST ${SANDBOX}/pause`, (response) => response.writeHead(204).end())
    .on(`POST ${SANDBOX}/resume`, (response) => response.writeHead(204).end())
    .on(`GET ${SANDBOX}`, json({ ...info, status: "hibernated" }));
  const sandbox = server.sandbox();
  await sandbox.pause();
  expect(sandbox.status).toBe("paused");
  await sandbox.resume();
  expect(sandbox.status).toBe("running");
  expect((await sandbox.refresh()).status).toBe("hibernated");
});

test("fault 2.42: a sandbox is one that code contexts work in, unless another is asked for", async () => {
  server.on("POST /v1/sandboxes", json({ id: "sb" }, 201));
  await server.client().sandboxes.create();
  expect(JSON.parse(server.requests[0]?.body.toString() ?? "")).toEqual({ template: "code-interpreter" });
});

test("fault 4.11: calls under way end with their client", async () => {
  server.on(RUN, silence).on(EXEC, silence);
  const client = server.client();
  const calls = [new CodeContext(client, "sb", "ctx").runCode("x"), client.request("POST", "/sandboxes/sb/exec")].map(failure);
  await server.until(() => server.requests.length === 2);
  client.close();
  for (const error of await Promise.all(calls)) expect(error.name).toBe("AbortError");
});

test("fault 4.22: a flood keeps head and tail and says so, and every piece is handed on", async () => {
  const piece = `event: stdout\ndata: ${JSON.stringify({ chunk: "0123456789abcde\n".repeat(4096) })}\n\n`;
  server.on(`${EXEC}/stream`, sse([...Array(64).fill(piece), exit]));
  const command = await server.sandbox().commands.start("x", { maxOutputBytes: 1000 });
  let bytes = 0;
  for await (const event of command) if (event.type === "stdout") bytes += event.text.length;
  const { stdout, truncated } = await command.wait();
  expect([bytes, truncated]).toEqual([64 * 65_536, true]);
  expect(stdout.length).toBeLessThan(1100);
  expect(stdout).toMatch(/^0123456789[\s\S]*bytes left out[\s\S]*abcde\n$/);
});

test("fault 4.26: a callback that fails rejects its call once and nothing else", async () => {
  const rejections: unknown[] = [];
  const note = (error: unknown) => rejections.push(error);
  process.on("unhandledRejection", note);
  server.on(`${EXEC}/stream`, sse([...Array(20).fill('event: stdout\ndata: {"chunk":"a"}\n\n'), exit]));
  let calls = 0;
  const onStdout = async () => {
    calls += 1;
    throw new Error("mine");
  };
  expect(await failure(server.sandbox().execStream("x", { onStdout }))).toMatchObject({ message: "mine" });
  await new Promise((resolve) => setTimeout(resolve, 100));
  process.off("unhandledRejection", note);
  expect([calls, rejections]).toEqual([1, []]);
});
