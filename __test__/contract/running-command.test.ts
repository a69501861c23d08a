import { once } from "node:events";
import { AbortError, InterruptedError, NotSupportedError, TimeoutError } from "@pandastack/sdk";
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

test("bytes are exact where the server sends them", async () => {
  const bytes = Buffer.from([0, 0xff, 0x41, 0xc3]);
  const raw = `event: stdout\ndata: ${JSON.stringify({ chunk: bytes.toString(), base64: bytes.toString("base64") })}\n\n`;
  server.on(STREAM, sse([out("é"), raw, out("e", "stderr"), out("z"), exit(0)]));
  const sandbox = server.sandbox();
  const command = await sandbox.commands.start("x");
  const pieces: Buffer[] = [];
  for await (const piece of command.bytes()) pieces.push(piece);
  expect(Buffer.concat(pieces)).toEqual(Buffer.concat([Buffer.from("é"), bytes, Buffer.from("z")]));
  expect(await command.wait()).toMatchObject({ stderr: "e", exitCode: 0 });
  let errors = "";
  for await (const text of (await sandbox.commands.start("x")).text("stderr")) errors += text;
  expect(errors).toBe("e");
});

test("callbacks are awaited, in order, and wait tells the end", async () => {
  server.on(STREAM, sse([out("a"), out("b", "stderr"), out("c"), exit(3)]));
  const seen: string[] = [];
  const take = async (text: string) => {
    seen.push(`${text} begins`);
    await new Promise((resolve) => setTimeout(resolve, 5));
    seen.push(`${text} ends`);
  };
  const command = await server.sandbox().commands.start("x", { onStdout: take, onStderr: take });
  expect(() => command[Symbol.asyncIterator]()).toThrow("can be read once");
  expect(await command.wait()).toMatchObject({ stdout: "ac", stderr: "b", exitCode: 3 });
  expect(seen).toEqual(["a", "b", "c"].flatMap((text) => [`${text} begins`, `${text} ends`]));
});

test("fault 2.6: a callback that rejects ends the command, and wait rejects with its reason", async () => {
  server.on(STREAM, sse([out("a"), 60_000]));
  const onStdout = async () => Promise.reject(new Error("mine"));
  const command = await server.sandbox().commands.start("x", { onStdout });
  await expect(command.wait()).rejects.toThrow("mine");
  await server.until(() => server.sockets.size === 0);
});

test("a signal that cannot be sent is refused, and the command runs on", async () => {
  server.on(STREAM, sse([out("a"), exit(0)]));
  const command = await server.sandbox().commands.start("x");
  expect(() => command.kill("SIGINT" as never)).toThrow(NotSupportedError);
  expect(await command.wait()).toMatchObject({ exitCode: 0 });
});

test("timeoutMs ends it with the output so far", async () => {
  server.on(STREAM, sse([out("a"), 60_000]));
  const command = await server.sandbox().commands.start("x", { timeoutMs: 300 });
  const error = await command.wait().catch((error) => error);
  expect(error).toBeInstanceOf(TimeoutError);
  expect(error.stdout).toBe("a");
  await server.until(() => server.sockets.size === 0);
});

test("a reader that stops taking stops the server", async () => {
  let sent = 0;
  server.on(STREAM, async (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const event = out("x".repeat(64 * 1024));
    for (let count = 0; count < 2000 && !response.destroyed; count += 1) {
      sent += event.length;
      if (!response.write(event)) await Promise.race([once(response, "drain"), once(response, "close")]);
    }
    response.end(exit(0));
  });
  const command = await server.sandbox().commands.start("x");
  for await (const _ of command) {
    let before = -1;
    while (before !== sent) {
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    break;
  }
  expect(sent).toBeLessThan(64 << 20);
});

test("a signal ends a command that nobody reads", async () => {
  server.on(STREAM, sse([out("a"), 60_000]));
  const controller = new AbortController();
  const command = await server.sandbox().commands.start("x", { signal: controller.signal });
  controller.abort(new Error("enough"));
  await server.until(() => server.sockets.size === 0);
  await expect(command.wait()).rejects.toMatchObject({ name: "AbortError", cause: new Error("enough") });
});

test.each(["events", "text", "bytes"])("leaving %s while the next is awaited ends the command at once", async (way) => {
  server.on(STREAM, sse([out("a"), 60_000]));
  const command = await server.sandbox().commands.start("x");
  const loop = way === "events" ? command[Symbol.asyncIterator]() : command[way as "text" | "bytes"]();
  await loop.next();
  const next = loop.next().catch((error) => error);
  expect(await loop.return()).toEqual({ done: true, value: undefined });
  expect(await next).toBeInstanceOf(AbortError);
  await server.until(() => server.sockets.size === 0);
});

test.each(["events", "text", "bytes"])("leaving %s before the first ends the command", async (way) => {
  server.on(STREAM, sse([out("a"), 60_000]));
  const command = await server.sandbox().commands.start("x");
  const loop = way === "events" ? command[Symbol.asyncIterator]() : command[way as "text" | "bytes"]();
  await loop.return();
  await server.until(() => server.sockets.size === 0);
  await expect(command.wait()).rejects.toBeInstanceOf(AbortError);
});

test("a signal ends also what waits for a callback that never settles", async () => {
  server.on(STREAM, sse([out("a"), out("b"), exit(0)]));
  const controller = new AbortController();
  const onStdout = () => {
    controller.abort();
    return new Promise(() => {});
  };
  const command = await server.sandbox().commands.start("x", { signal: controller.signal, onStdout });
  await expect(command.wait()).rejects.toMatchObject({ name: "AbortError", stdout: "a" });
});
