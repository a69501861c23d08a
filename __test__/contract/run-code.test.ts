import { CodeContext, Execution, InterruptedError, InvalidOptionError, SandboxTimeout, TimeoutError } from "@pandastack/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { END, json, ndjson, ScriptedServer, stream } from "../support/scripted-server.js";

let server: ScriptedServer;
let context: CodeContext;
beforeEach(async () => {
  server = await ScriptedServer.start();
  context = new CodeContext(server.client(), "sb", "ctx");
});
afterEach(() => server.stop());

const RUN = "POST /v1/sandboxes/sb/repl/sessions/ctx/run";
const PNG = "iVBORw0KGgo=";
const sent = () => JSON.parse(server.seen(RUN).at(-1)?.body.toString() ?? "null");
const out = (text: string) => ({ type: "stdout", text });
const shows = (data: object, rest = {}) => ({ type: "result", data, is_main: false, ...rest });

describe("a stream of events", () => {
  test("fault 2.33: becomes an execution", async () => {
    const raised = { type: "error", text: "Traceback\nE: v", name: "E", value: "v", traceback: ["Traceback", "E: v"], line: 2 };
    server.on(
      RUN,
      ndjson([
        out("a"),
        { type: "stderr", text: "w" },
        shows({ "text/plain": "1", "image/png": PNG }),
        shows({ "text/plain": "42" }, { is_main: true }),
        shows({ "text/plain": "later" }),
        { type: "keepalive" },
        { type: "from the future" },
        raised,
        { ...END, status: "error", exit_code: 1, execution_count: 3, restarted: true },
      ]),
    );
    const execution = await context.runCode("x", { timeoutSeconds: 0.0004, env: { A: "b" }, maxOutputBytes: 100 });
    expect(execution).toBeInstanceOf(Execution);
    expect(execution).toMatchObject({
      stdout: "a",
      stderr: "w",
      text: "42",
      png: PNG,
      error: "Traceback\nE: v",
      errorInfo: { name: "E", value: "v", traceback: ["Traceback", "E: v"], line: 2 },
      exit_code: 1,
      exitCode: 1,
      executionCount: 3,
      duration_ms: 5,
      restarted: true,
      truncated: false,
    });
    expect(execution.results.map((result) => result.text)).toEqual(["1", "42", "later"]);
    expect(execution.results.map((result) => result.isMain)).toEqual([false, true, false]);
    expect(sent()).toEqual({ code: "x", timeout_ms: 1, env: { A: "b" }, max_output_bytes: 100 });
  });

  test("calls back in order and awaits each call", async () => {
    server.on(
      RUN,
      ndjson([
        out("a"),
        shows({ "text/plain": "r" }),
        { type: "stderr", text: "w" },
        { type: "error", text: "t", name: "E" },
        END,
      ]),
    );
    const log: string[] = [];
    const slow = (name: string) => async (value: unknown) => {
      await new Promise((resolve) => setTimeout(resolve, 10));
      log.push(`${name} ${typeof value === "string" ? value : JSON.stringify(value).length > 2}`);
    };
    await context.runCode("x", {
      onStdout: slow("out"),
      onStderr: slow("err"),
      onResult: slow("result"),
      onError: slow("error"),
    });
    expect(log).toEqual(["out a", "result true", "err w", "error true"]);
  });

  test("replaces and clears results", async () => {
    server.on(
      RUN,
      ndjson([
        shows({ "text/plain": "gone" }),
        { type: "clear", wait: false },
        shows({ "text/plain": "0%" }, { display_id: "p" }),
        shows({ "text/plain": "50%" }, { display_id: "p", update: true }),
        { type: "clear", wait: true },
        { type: "stdout", text: "x" },
        shows({ "text/plain": "last" }),
        { type: "clear", wait: true },
        END,
      ]),
    );
    const seen: (string | undefined)[] = [];
    const execution = await context.runCode("x", { onResult: (result) => seen.push(result.text) });
    expect(execution.results.map((result) => result.text)).toEqual(["last"]);
    expect(seen).toEqual(["gone", "0%", "50%", "last"]);
  });

  test.each([true, false])("that is cut (%s) rejects with what had arrived", async (cut) => {
    server.on(RUN, ndjson([out("so far"), shows({ "image/png": PNG })], cut));
    const error = await context.runCode("x").catch((error) => error);
    expect(error).toBeInstanceOf(InterruptedError);
    expect(error.stdout).toBe("so far");
    expect(error.execution.png).toBe(PNG);
  });

  test("cut inside its last line rejects", async () => {
    server.on(RUN, stream("application/x-ndjson", ['{"type":"stdout","text":"a"}\n{"type":"end","sta']));
    await expect(context.runCode("x")).rejects.toMatchObject({ code: "interrupted", stdout: "a" });
  });

  test("with a failure rejects with its kind", async () => {
    server.on(RUN, ndjson([out("so far"), { type: "failure", code: "sandbox_gone", error: "the sandbox ended" }]));
    await expect(context.runCode("x")).rejects.toMatchObject({
      name: "SandboxGoneError",
      stdout: "so far",
      message: "the sandbox ended",
    });
  });

  test("that ends by its time limit rejects with what the cell had shown", async () => {
    server.on(RUN, ndjson([out("so far"), { ...END, status: "timed_out", duration_ms: 1000 }]));
    const error = await context.runCode("x", { timeoutSeconds: 1 }).catch((error) => error);
    expect(error).toBeInstanceOf(SandboxTimeout);
    expect(error.execution).toMatchObject({ stdout: "so far", status: "timed_out" });
    expect(error.message).not.toContain("x");
  });

  test("of a kernel that died is a result that says so", async () => {
    server.on(RUN, ndjson([out("a"), { ...END, status: "kernel_died", exit_code: 1, restarted: true }]));
    const execution = await context.runCode("import os; os._exit(1)");
    expect(execution).toMatchObject({ status: "kernel_died", restarted: true, errorInfo: { name: "KernelDied" } });
    expect(execution.error).toContain("variables are lost");
  });

  test("keeps head and tail within the limit", async () => {
    server.on(RUN, ndjson([...Array(100)].map((_, index) => out(`${index % 10}`.repeat(100))).concat(END as never)));
    const execution = await context.runCode("x", { maxOutputBytes: 200 });
    expect(execution.truncated).toBe(true);
    expect(execution.stdout).toMatch(/^0{100}\n… 9800 bytes left out …\n9{100}$/);
  });

  test("cut inside characters arrives whole", async () => {
    const bytes = Buffer.from(`${JSON.stringify(out("ä😀\u2028"))}\n${JSON.stringify(END)}\n`);
    server.on(
      RUN,
      stream(
        "application/x-ndjson",
        [...bytes].map((byte) => Buffer.from([byte])),
      ),
    );
    expect((await context.runCode("x")).stdout).toBe("ä😀\u2028");
  });

  test("closes when a callback throws", async () => {
    server.on(RUN, (response) => {
      response.writeHead(200, { "content-type": "application/x-ndjson" }).write(`${JSON.stringify(out("a"))}\n`);
    });
    const onStdout = () => {
      throw new TypeError("mine");
    };
    await expect(context.runCode("x", { onStdout })).rejects.toThrow(new TypeError("mine"));
    await server.until(() => server.sockets.size === 0);
  });
});

describe("an answer in one piece", () => {
  test("fault 2.29: of the official shapes", async () => {
    server.on(
      RUN,
      json({
        stdout: "a\n",
        stderr: "",
        exit: 0,
        exit_code: 0,
        error: null,
        duration_ms: 4,
        results: [
          { type: "text/plain", data: "first" },
          { "text/html": "<table>", "application/json": { a: [1] } },
          { "text/plain": "second" },
        ],
      }),
    );
    const execution = await context.runCode("x");
    expect(execution).toMatchObject({ stdout: "a\n", exitCode: 0, duration_ms: 4, text: "second" });
    expect(execution.error).toBeUndefined();
    expect("error" in execution).toBe(false);
    expect(execution.results[1]).toMatchObject({ html: "<table>", json: { a: [1] } });
    expect(execution.results[1]?.data["application/json"]).toBe('{"a":[1]}');
  });

  test("with an error string", async () => {
    server.on(RUN, json({ stdout: "", stderr: "", exit: 1, error: "Traceback\nZeroDivisionError: division by zero" }));
    const execution = await context.runCode("1/0");
    expect(execution).toMatchObject({
      exitCode: 1,
      status: "error",
      errorInfo: { name: "ZeroDivisionError", value: "division by zero" },
    });
  });

  test("without anything", async () => {
    server.on(RUN, json({}));
    expect(await context.runCode("x")).toMatchObject({ stdout: "", stderr: "", results: [], exitCode: 0 });
    server.on(RUN, (response) => response.writeHead(204).end());
    await expect(context.runCode("x")).rejects.toMatchObject({ name: "NetworkError" });
  });

  test("for a time limit", async () => {
    const execution = { stdout: "so far", results: [{ "image/png": PNG }] };
    server.on(RUN, json({ error: "cell timeout after 1s", code: "sandbox_timeout", execution }, 504));
    const error = await context.runCode("x", { timeoutSeconds: 1 }).catch((error) => error);
    expect(error).toBeInstanceOf(SandboxTimeout);
    expect(error.execution).toMatchObject({ stdout: "so far", png: PNG, status: "timed_out" });
    server.on(RUN, json({ error: "cell timeout after 30s" }, 500));
    await expect(context.runCode("x")).rejects.toBeInstanceOf(SandboxTimeout);
  });
});

describe("a context", () => {
  test("is created, listed, interrupted, restarted and closed", async () => {
    const sessions = "/v1/sandboxes/sb/repl/sessions";
    server
      .on(`POST ${sessions}`, json({ session_id: "ctx", sandbox_id: "sb", language: "python" }, 201))
      .on(`GET ${sessions}`, json([{ id: "ctx", language: "python" }]))
      .on(`POST ${sessions}/ctx/interrupt`, json(null, 200))
      .on(`POST ${sessions}/ctx/restart`, json({ id: "ctx" }))
      .on(`DELETE ${sessions}/ctx`, (response) => response.writeHead(204).end());
    const created = await server.sandbox().createCodeContext("py", { env: { A: "b" }, cwd: "/srv", fresh: true });
    expect([created.id, created.language]).toEqual(["ctx", "python"]);
    expect(JSON.parse(server.requests[0]?.body.toString() ?? "")).toEqual({
      language: "python",
      env: { A: "b" },
      cwd: "/srv",
      fresh: true,
    });
    expect((await server.sandbox().listCodeContexts()).map((each) => each.id)).toEqual(["ctx"]);
    await created.interrupt();
    expect(server.requests.at(-1)?.headers["content-length"]).toBe("0");
    await created.restart();
    await created.close();
  });

  test("fault 2.37: that is gone closes without an error, but not with a wrong key", async () => {
    const route = "DELETE /v1/sandboxes/sb/repl/sessions/ctx";
    server.on(route, json({ error: "session not found" }, 404));
    await context.close();
    server.on(route, json({ error: "unauthorized" }, 401));
    await expect(context.close()).rejects.toMatchObject({ name: "AuthError" });
  });

  test("runs cells in the order of the calls, one at a time", async () => {
    let running = 0;
    let most = 0;
    server.on(RUN, async (response, request) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, request.body.includes("slow") ? 60 : 1));
      running -= 1;
      json({ stdout: JSON.parse(request.body.toString()).code })(response, request);
    });
    const done: string[] = [];
    await Promise.all(["slow", "b", "c"].map(async (code) => done.push((await context.runCode(code)).stdout)));
    expect([most, done]).toEqual([1, ["slow", "b", "c"]]);
  });

  test("forgets a cell that is aborted while it waits; the next one still waits for the first", async () => {
    let release = () => {};
    server.on(
      RUN,
      async (response) => {
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        response.end("{}");
      },
      json({}),
    );
    const first = context.runCode("first");
    const controller = new AbortController();
    const second = context.runCode("second", { signal: controller.signal });
    const third = context.runCode("third");
    controller.abort();
    await expect(second).rejects.toMatchObject({ name: "AbortError" });
    await server.until(() => server.seen(RUN).length === 1);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(server.seen(RUN)).toHaveLength(1);
    release();
    await Promise.all([first, third]);
    expect(server.seen(RUN).map((request) => JSON.parse(request.body.toString()).code)).toEqual(["first", "third"]);
  });

  test("goes on after a cell that failed", async () => {
    server.on(RUN, json({ error: "boom" }, 500), json({ stdout: "ok" }));
    await expect(context.runCode("a")).rejects.toMatchObject({ name: "ServerError" });
    expect((await context.runCode("b")).stdout).toBe("ok");
  });

  test("ends a cell after timeoutMs, with what it had shown", async () => {
    server.on(RUN, stream("application/x-ndjson", ['{"type":"stdout","text":"a"}\n', 60_000]));
    const error = await context.runCode("x", { timeoutMs: 300 }).catch((error) => error);
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error.execution).toMatchObject({ stdout: "a" });
    await server.until(() => server.sockets.size === 0);
  });

  test("aborts a running cell", async () => {
    server.on(RUN, (response) => {
      response.writeHead(200, { "content-type": "application/x-ndjson" }).write(`${JSON.stringify(out("so far"))}\n`);
    });
    const controller = new AbortController();
    const error = await context
      .runCode("x", { signal: controller.signal, onStdout: () => controller.abort() })
      .catch((error) => error);
    expect(error).toMatchObject({ name: "AbortError", execution: { stdout: "so far" } });
    await server.until(() => server.sockets.size === 0);
  });

  test.each([
    ["", {}],
    [5, {}],
    ["x", { timeoutMs: 0 }],
    ["x", { timeoutSeconds: 30_000 }],
    ["x", { timeoutSeconds: 1, timeout_seconds: 2 }],
    ["x", { timeoutSeconds: 0 }],
    ["x", { onStdout: 1 }],
    ["x", { signal: {} }],
    ["x", { maxOutputBytes: 1.5 }],
  ])("refuses %o with %o", async (code, options) => {
    await expect(context.runCode(code as never, options as never)).rejects.toBeInstanceOf(InvalidOptionError);
    expect(server.requests).toHaveLength(0);
  });
});

test("a context whose creation is aborted is deleted", async () => {
  const controller = new AbortController();
  server.on("POST /v1/sandboxes/sb/repl/sessions", async (response, request) => {
    controller.abort();
    await new Promise((resolve) => setTimeout(resolve, 50));
    json({ id: "late" }, 201)(response, request);
  });
  const creation = server.sandbox().createCodeContext({ signal: controller.signal });
  await expect(creation).rejects.toMatchObject({ name: "AbortError" });
  await server.until(() => server.seen("DELETE /v1/sandboxes/sb/repl/sessions/late").length === 1);
});

describe("the order of keys is the server's", () => {
  const text = '{"z":1,"a":{"y":2,"b":[{"d":1,"c":2}]}}';
  const unsorted = JSON.parse(text);

  test("in the JSON of a result", async () => {
    const results = [{ type: "application/json", data: unsorted }];
    for (const reply of [ndjson([shows({ "application/json": unsorted }), END]), json({ stdout: "", results })]) {
      server.on(RUN, reply);
      const [result] = (await context.runCode("x")).results;
      expect(result?.data["application/json"]).toBe(text);
      expect(JSON.stringify(result?.json)).toBe(text);
    }
  });

  test("in what `request` resolves to", async () => {
    server.on("GET /v1/x", json(unsorted));
    expect(JSON.stringify(await server.client().request("GET", "x"))).toBe(text);
  });

  test("in fields that are not known", async () => {
    server.on(
      "GET /v1/sandboxes/sb",
      json({ id: "sb", template: "t", cpu: 1, memory_mb: 1, status: "running", nested: unsorted }),
    );
    const { info } = await server.client().sandboxes.get("sb");
    expect(JSON.stringify((info as unknown as { nested: unknown }).nested)).toBe(text);
  });
});
