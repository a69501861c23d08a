import { AbortError, InterruptedError } from "@pandastack/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ScriptedServer, sse } from "../support/scripted-server.js";

let server: ScriptedServer;
beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.stop());

const STREAM = "POST /v1/sandboxes/sb/exec/stream";
const out = (text: string, name = "stdout") => `event: ${name}\ndata: ${JSON.stringify({ chunk: text })}\n\n`;
const exit = (code: number) => `event: exit\ndata: {"exit_code":${code}}\n\n`;

test("events come in order and the end is the last", async () => {
  server.on(STREAM, sse([out("a"), out("b", "stderr"), out("c"), exit(3)]));
  const command = await server.sandbox().commands.start("x");
  const events: unknown[] = [];
  for await (const event of command) events.push(event);
  expect(events).toEqual([
    { type: "stdout", text: "a" },
    { type: "stderr", text: "b" },
    { type: "stdout", text: "c" },
    { type: "exit", exitCode: 3 },
  ]);
  expect(await command.wait()).toMatchObject({ stdout: "ac", stderr: "b", exitCode: 3, exit_code: 3 });
});

test("wait collects what nobody reads, within a limit", async () => {
  server.on(STREAM, sse([out("x".repeat(100)), exit(0)]));
  const command = await server.sandbox().commands.start(["x", "y z"], { maxOutputBytes: 20 });
  const result = await command.wait();
  expect(result).toMatchObject({ exitCode: 0, truncated: true });
  expect(result.stdout).toMatch(/^x{10}\n… 80 bytes left out …\nx{10}$/);
  expect(await command.wait()).toEqual(result);
});

test.each(["kill", "break", "dispose"])("%s closes the connection", async (way) => {
  server.on(STREAM, sse([out("a"), 60_000]));
  const command = await server.sandbox().commands.start("x");
  for await (const _ of command) {
    if (way === "kill") command.kill();
    if (way === "dispose") await command[Symbol.asyncDispose]();
    break;
  }
  await server.until(() => server.sockets.size === 0);
  await expect(command.wait()).rejects.toMatchObject({ name: "AbortError", stdout: "a" });
});

test("fault 4.9: kill ends a wait", async () => {
  server.on(STREAM, sse([out("a"), 60_000]));
  const command = await server.sandbox().commands.start("x");
  const ended = command.wait().catch((error) => error);
  await server.until(() => server.sockets.size === 1);
  command.kill();
  expect(await ended).toBeInstanceOf(AbortError);
});

test("fault 2.1: a cut stream is an error with the output so far", async () => {
  server.on(STREAM, sse([out("a"), out("b", "stderr")], true));
  const command = await server.sandbox().commands.start("x");
  const error = await command.wait().catch((error) => error);
  expect(error).toBeInstanceOf(InterruptedError);
  expect(error).toMatchObject({ stdout: "a", stderr: "b" });
});

test("fault 4.9: a signal ends it", async () => {
  server.on(STREAM, sse([out("a"), 60_000]));
  const controller = new AbortController();
  const command = await server.sandbox().commands.start("x", { signal: controller.signal });
  const ended = command.wait().catch((error) => error);
  await server.until(() => server.sockets.size === 1);
  controller.abort(new Error("enough"));
  expect(await ended).toMatchObject({ name: "AbortError", cause: new Error("enough") });
});
