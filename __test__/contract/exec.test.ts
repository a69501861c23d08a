import {
  CommandError,
  InvalidOptionError,
  NetworkError,
  RunningCommand,
  SandboxTimeout,
  ServerError,
  TimeoutError,
} from "@pandastack/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { json, ScriptedServer, silence, sse } from "../support/scripted-server.js";

let server: ScriptedServer;
beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.stop());

const EXEC = "POST /v1/sandboxes/sb/exec";
const chunk = (text: string) => `event: stdout\ndata: ${JSON.stringify({ chunk: text })}\n\n`;
const exit = (code: number) => `event: exit\ndata: {"exit_code":${code}}\n\n`;
const sent = () => JSON.parse(server.seen(EXEC).at(-1)?.body.toString() ?? "null");

test("fault 2.24: a result has the exit code under both names; a code other than 0 is a result", async () => {
  server.on(EXEC, json({ stdout: "out", stderr: "err", exit_code: 7, duration_ms: 3 }));
  const result = await server.sandbox().exec("exit 7", { timeoutSeconds: 0.5 });
  expect(result).toEqual({ stdout: "out", stderr: "err", exit_code: 7, exitCode: 7, duration_ms: 3 });
  expect(sent()).toEqual({ cmd: "exit 7", timeout_seconds: 0.5 });
});

test("check turns a code other than 0 into an error with the output", async () => {
  server.on(EXEC, json({ stdout: "out", stderr: "err", exit_code: 7 }));
  const error = await server
    .sandbox()
    .exec("false", { check: true })
    .catch((error) => error);
  expect(error).toBeInstanceOf(CommandError);
  expect(error).toMatchObject({
    message: "command exited with code 7: false",
    exitCode: 7,
    stdout: "out",
    stderr: "err",
    code: "command",
  });
});

test("fault 2.13: the command's own time limit outlasts the client's", async () => {
  server.on(EXEC, async (response) => {
    await new Promise((resolve) => setTimeout(resolve, 400));
    response.end('{"stdout":"late","stderr":"","exit_code":0}');
  });
  const sandbox = server.sandbox({ timeoutMs: 100 });
  expect((await sandbox.exec("sleep", { timeoutSeconds: 1 })).stdout).toBe("late");
  const error = await sandbox.exec("sleep").catch((error) => error);
  expect(error).toBeInstanceOf(TimeoutError);
  expect(error).toBeInstanceOf(NetworkError);
  expect(server.seen(EXEC)).toHaveLength(2);
});

test("a time limit that the server reports has the output so far", async () => {
  server.on(EXEC, json({ error: "command timeout after 1s", code: "sandbox_timeout", stdout: "so far", stderr: "" }, 504));
  const error = await server
    .sandbox()
    .exec("sleep 9", { timeoutSeconds: 1 })
    .catch((error) => error);
  expect(error).toBeInstanceOf(SandboxTimeout);
  expect(error).toMatchObject({ statusCode: 504, stdout: "so far" });
});

test("fault 2.22: a proxy's timeout is not the command's", async () => {
  server.on(EXEC, (response) => response.writeHead(504, { "content-type": "text/plain" }).end("gateway timeout"));
  const error = await server
    .sandbox()
    .exec("x")
    .catch((error) => error);
  expect(error).not.toBeInstanceOf(SandboxTimeout);
  expect(error).toBeInstanceOf(ServerError);
});

test("fault 2.15: a command that may have run is never sent again", async () => {
  server.on(EXEC, json({ error: "read tcp: i/o timeout" }, 500));
  await expect(server.sandbox().exec("x")).rejects.toBeInstanceOf(ServerError);
  server.on(EXEC, (response) => response.destroy());
  await expect(server.sandbox().exec("x")).rejects.toBeInstanceOf(NetworkError);
  expect(server.seen(EXEC)).toHaveLength(2);
});

test("a sandbox that was not reached yet is asked again", async () => {
  server.on(
    EXEC,
    json({ error: "dial tcp 10.0.0.2:22: connect: connection refused" }, 500),
    json({ stdout: "", stderr: "", exit_code: 0 }),
  );
  expect((await server.sandbox().exec("x")).exitCode).toBe(0);
  expect(server.seen(EXEC)).toHaveLength(2);
});

test("fault 2.18: an empty answer is an error, not a crash", async () => {
  server.on(EXEC, (response) => response.writeHead(204).end());
  await expect(server.sandbox().exec("x")).rejects.toBeInstanceOf(NetworkError);
});

test("a program with arguments, a folder and an environment work on every server", async () => {
  server.on(EXEC, json({ stdout: "", stderr: "", exit_code: 0 }));
  await server.sandbox().exec(["echo", "it's", "$HOME"], { cwd: "/a b", env: { K: "v'1" } });
  expect(sent().cmd).toBe(`cd -- '/a b' || exit 1\nexport K='v'\\''1'\necho 'it'\\''s' '$HOME'`);
});

test.each([
  [{ timeout: 5 }, "did you mean `timeoutSeconds` or `timeoutMs`"],
  [{ timeout_ms: 5 }, "did you mean `timeoutMs`"],
  [{ timeoutSeconds: -1 }, "option `timeoutSeconds`: must be a positive number of seconds, not: `-1`"],
  [{ timeoutSeconds: 0 }, "must be a positive number of seconds, not: `0`"],
  [{ timeoutSeconds: Number.NaN }, "must be a positive number of seconds, not: `NaN`"],
  [{ timeoutSeconds: Number.POSITIVE_INFINITY }, "must be a positive number of seconds, not: `Infinity`"],
  [{ timeoutSeconds: "5" }, 'must be a positive number of seconds, not: `"5"`'],
  [{ timeoutSeconds: 30_000 }, "must be at most 28800 seconds, not: `30000`; if milliseconds were meant, pass `30`"],
  [
    { timeoutSeconds: 5, timeout_seconds: 6 },
    "option `timeoutSeconds` is also given as `timeout_seconds`, with another value: `5` and `6`",
  ],
  [{ timeoutMs: 0 }, "option `timeoutMs`: must be a positive whole number of milliseconds, not: `0`"],
  [{ timeoutMs: 1.5 }, "positive whole number of milliseconds"],
  [{ maxOutputBytes: -1 }, "option `maxOutputBytes`: must be a positive whole number of bytes, not: `-1`"],
  [{ stream: "yes" }, "option `stream`"],
  [{ cwd: "rel" }, "must be an absolute path"],
  [{ env: { A: 1 } }, "env.A"],
  [{ nope: 1 }, "unknown option: `nope`"],
  [{ constructor: 1 }, "unknown option: `constructor`"],
  [JSON.parse('{"__proto__":1}'), "unknown option: `__proto__`"],
  [Object.fromEntries([..."abcdefgh"].map((name) => [name, 1])), "unknown option: `e`; and 3 more"],
  [{ ["x".repeat(1000)]: 1 }, `unknown option: \`${"x".repeat(60)}…\``],
  [{ user: "root" }, "local engine"],
])("refuses %o before anything is sent", async (options, text) => {
  const error = await server
    .sandbox()
    .exec("x", options as never)
    .catch((error) => error);
  expect(error).toBeInstanceOf(InvalidOptionError);
  expect(error.message).toContain(text);
  expect(server.requests).toHaveLength(0);
});

test.each(["", "a\0b", [], ["a", 1], 5, null])("refuses the command %o", async (command) => {
  await expect(server.sandbox().exec(command as never)).rejects.toBeInstanceOf(InvalidOptionError);
  expect(server.requests).toHaveLength(0);
});

test("the error is raised at the caller", async () => {
  server.on(EXEC, json({ error: "no" }, 400));
  async function theCaller() {
    await server.sandbox().exec("x");
  }
  const error = await theCaller().catch((error) => error);
  expect(error.stack).toContain("theCaller");
  expect(error).toMatchObject({ method: "POST", url: `${server.url}/v1/sandboxes/sb/exec`, body: { error: "no" } });
});

test("fault 2.36: Python code cannot escape into the shell", async () => {
  server.on(EXEC, json({ stdout: "", stderr: "", exit_code: 0 }));
  const code = "print(1)\nPY\necho 'x' \"$HOME\" `id`";
  await server.sandbox().runCode(code, "python");
  const { execFileSync } = await import("node:child_process");
  const words = execFileSync("sh", ["-c", `set -- ${sent().cmd}; printf '%s\\0' "$@"`]).toString();
  expect(words).toBe(["python3", "-c", code, ""].join("\0"));
  await server.sandbox().runCode("echo 1");
  expect(sent().cmd).toBe("echo 1");
});

test("long Python code goes by a file", async () => {
  server.on(EXEC, json({ stdout: "", stderr: "", exit_code: 0 }));
  server.on("PUT /v1/sandboxes/sb/fs", json({ path: "p", bytes: 1 }));
  const code = `x = "${"a".repeat(200_000)}"`;
  await server.sandbox().runCode(code, "python");
  const [put] = server.seen("PUT /v1/sandboxes/sb/fs");
  expect(put?.body.toString()).toBe(code);
  expect(sent().cmd).toContain(put?.query.get("path"));
});

test("an abort closes the connection", async () => {
  server.on(EXEC, silence);
  const controller = new AbortController();
  const run = server.sandbox().exec("x", { signal: controller.signal });
  await server.until(() => server.seen(EXEC).length === 1);
  controller.abort(new Error("enough"));
  const error = await run.catch((error) => error);
  expect(error).toMatchObject({ name: "AbortError", code: "aborted", cause: new Error("enough") });
  await server.until(() => server.sockets.size === 0);
});

test("both spellings of an option may be given if they agree", async () => {
  server.on(EXEC, json({ stdout: "", stderr: "", exit_code: 0 }));
  await server.sandbox().exec("x", { timeoutSeconds: 5, timeout_seconds: 5 } as never);
  expect(sent()).toEqual({ cmd: "x", timeout_seconds: 5 });
});

test("timeoutMs ends the call and closes the connection", async () => {
  server.on(EXEC, silence);
  const error = await server
    .sandbox()
    .exec("x", { timeoutMs: 50, timeoutSeconds: 100 })
    .catch((error) => error);
  expect(error).toBeInstanceOf(TimeoutError);
  expect(error.message).toContain("no answer within");
  await server.until(() => server.sockets.size === 0);
});

test("maxOutputBytes keeps head and tail of the output", async () => {
  server.on(`${EXEC}/stream`, sse([chunk("a".repeat(100)), chunk("b".repeat(100)), exit(3)]));
  const result = await server.sandbox().exec("x", { maxOutputBytes: 20 });
  expect(result).toMatchObject({ exitCode: 3, exit_code: 3, truncated: true, stderr: "" });
  expect(result.stdout).toBe(`${"a".repeat(10)}\n… 180 bytes left out …\n${"b".repeat(10)}`);
  const error = await server
    .sandbox()
    .exec("x", { maxOutputBytes: 1000, check: true })
    .catch((error) => error);
  expect(error).toMatchObject({ name: "CommandError", exitCode: 3, stdout: "a".repeat(100) + "b".repeat(100) });
});

test("stream: true is a handle", async () => {
  server.on(`${EXEC}/stream`, sse([chunk("a"), exit(0)]));
  const sandbox = server.sandbox();
  for (const command of [await sandbox.exec("x", { stream: true }), await sandbox.commands.run("x", { stream: true })]) {
    expect(command).toBeInstanceOf(RunningCommand);
    expect(await command.wait()).toMatchObject({ stdout: "a", exitCode: 0 });
  }
});

test("many calls may share one signal", async () => {
  server.on(EXEC, silence);
  const warnings: unknown[] = [];
  const warn = (warning: unknown) => warnings.push(warning);
  process.on("warning", warn);
  const controller = new AbortController();
  const sandbox = server.sandbox();
  const calls = Array.from({ length: 20 }, () => sandbox.exec("x", { signal: controller.signal }).catch((error) => error));
  await server.until(() => server.seen(EXEC).length === 20);
  controller.abort("enough");
  for (const error of await Promise.all(calls)) expect(error).toMatchObject({ name: "AbortError", cause: "enough" });
  await server.until(() => server.sockets.size === 0);
  process.off("warning", warn);
  expect(warnings).toEqual([]);
});
