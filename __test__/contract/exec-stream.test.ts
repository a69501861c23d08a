import { CommandError, InterruptedError, NetworkError, SandboxGoneError, SandboxTimeout, ServerError } from "@pandastack/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { json, ScriptedServer, sse } from "../support/scripted-server.js";

let server: ScriptedServer;
beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.stop());

const STREAM = "POST /v1/sandboxes/sb/exec/stream";
const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const exit = (code: number) => event("exit", { exit_code: code });

async function run(options = {}) {
  let stdout = "";
  let stderr = "";
  const exitCode = await server.sandbox().execStream("x", {
    onStdout: (text) => {
      stdout += text;
    },
    onStderr: (text) => {
      stderr += text;
    },
    ...options,
  });
  return { exitCode, stdout, stderr };
}

test("output in order, then the exit code", async () => {
  server.on(
    STREAM,
    sse([
      ": ka\n\n",
      event("stdout", { chunk: "a\n" }),
      event("stderr", { chunk: "b" }),
      event("stdout", { chunk: "c" }),
      exit(7),
    ]),
  );
  expect(await run()).toEqual({ exitCode: 7, stdout: "a\nc", stderr: "b" });
});

test("with `check` a code other than 0 rejects after the last callback, with the output", async () => {
  server.on(STREAM, sse([event("stdout", { chunk: "a" }), event("stderr", { chunk: "b" }), exit(7)]));
  let seen = "";
  const onStdout = (text: string) => {
    seen += text;
  };
  const error = await run({ check: true, onStdout }).catch((error) => error);
  expect(error).toBeInstanceOf(CommandError);
  expect(error).toMatchObject({ message: "command exited with code 7: x", exitCode: 7, stdout: "a", stderr: "b" });
  expect(seen).toBe("a");
  expect(await run({ check: false })).toMatchObject({ exitCode: 7 });
  server.on(STREAM, sse([exit(0)]));
  expect(await run({ check: true })).toMatchObject({ exitCode: 0 });
});

test.each(["\n", "\r\n", "\r"])("fault 2.3: line end %j, cut anywhere, also inside a character", async (end) => {
  const text = (event("stdout", { chunk: "ä😀" }).replace('"ä😀"', '"ä😀"') + exit(3)).replaceAll("\n", end);
  const bytes = Buffer.from(text);
  server.on(STREAM, sse([...bytes].map((byte) => Buffer.from([byte]))));
  expect(await run()).toEqual({ exitCode: 3, stdout: "ä😀", stderr: "" });
});

test("the first callback comes before the second piece is sent", async () => {
  let release = () => {};
  const seen = new Promise<void>((resolve) => {
    release = resolve;
  });
  server.on(STREAM, async (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(event("stdout", { chunk: "1" }));
    await seen;
    response.end(event("stdout", { chunk: "2" }) + exit(0));
  });
  const pieces: string[] = [];
  const exitCode = await server.sandbox().execStream("x", {
    onStdout: (text) => {
      pieces.push(text);
      release();
    },
  });
  expect([exitCode, pieces]).toEqual([0, ["1", "2"]]);
});

test.each([
  ["closed", false],
  ["broken", true],
])("fault 2.1: a stream that is %s without an exit rejects with the output so far", async (_, cut) => {
  server.on(STREAM, sse([event("stdout", { chunk: "so far" }), event("stderr", { chunk: "err" })], cut));
  const error = await run().catch((error) => error);
  expect(error).toBeInstanceOf(InterruptedError);
  expect(error).toMatchObject({ stdout: "so far", stderr: "err", code: "interrupted" });
});

test("fault 2.2: a last event without its blank line counts", async () => {
  server.on(STREAM, sse(['event: exit\ndata: {"exit_code":7}\n']));
  expect((await run()).exitCode).toBe(7);
});

test.each([
  [{ error: "command timeout after 1s" }, SandboxTimeout],
  [{ error: "the sandbox ended", code: "sandbox_gone" }, SandboxGoneError],
  [{ error: "boom" }, ServerError],
])("the error event %o", async (data, errorClass) => {
  server.on(STREAM, sse([event("stdout", { chunk: "so far" }), event("error", data)]));
  const error = await run().catch((error) => error);
  expect(error).toBeInstanceOf(errorClass);
  expect(error).toMatchObject({ stdout: "so far", message: data.error });
});

test("fault 2.6: callbacks are awaited one after the other", async () => {
  server.on(
    STREAM,
    sse([event("stdout", { chunk: "1" }), 20, event("stderr", { chunk: "2" }), 20, event("stdout", { chunk: "3" }), exit(0)]),
  );
  const log: string[] = [];
  const slow = async (text: string) => {
    log.push(`start ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    log.push(`end ${text}`);
  };
  await server.sandbox().execStream("x", { onStdout: slow, onStderr: slow });
  expect(log).toEqual(["start 1", "end 1", "start 2", "end 2", "start 3", "end 3"]);
});

test.each([
  [
    "throws",
    () => {
      throw new Error("mine");
    },
  ],
  ["rejects", () => Promise.reject(new Error("mine"))],
])("fault 2.5: a callback that %s rejects the call with its error and closes the connection", async (_, onStdout) => {
  server.on(STREAM, async (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(event("stdout", { chunk: "1" }));
  });
  await expect(server.sandbox().execStream("x", { onStdout })).rejects.toThrow("mine");
  await server.until(() => server.sockets.size === 0);
});

test("an abort during the stream keeps the output so far", async () => {
  server.on(STREAM, (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(event("stdout", { chunk: "so far" }));
  });
  const controller = new AbortController();
  const error = await run({ onStdout: () => controller.abort(), signal: controller.signal }).catch((error) => error);
  expect(error).toMatchObject({ name: "AbortError", stdout: "so far" });
  await server.until(() => server.sockets.size === 0);
});

test("an aborted signal sends nothing", async () => {
  await expect(run({ signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
  expect(server.requests).toHaveLength(0);
});

test("fault 2.7: errors before the stream have the same classes as elsewhere", async () => {
  server.on(STREAM, json({ error: "sandbox not found" }, 404));
  await expect(run()).rejects.toMatchObject({ name: "NotFoundError" });
  await server.stop();
  await expect(run()).rejects.toBeInstanceOf(NetworkError);
});

test("fault 2.8: a path prefix of the address is kept", async () => {
  server.on("POST /base/v1/sandboxes/sb/exec/stream", sse([exit(0)]));
  expect(await server.sandbox({ apiUrl: `${server.url}/base` }).execStream("x")).toBe(0);
});

test("a slow consumer stops the server", async () => {
  let written = 0;
  server.on(STREAM, async (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const piece = event("stdout", { chunk: "x".repeat(16_384) });
    for (let count = 0; count < 4000 && !response.destroyed; count += 1) {
      if (!response.write(piece)) await new Promise((resolve) => response.once("drain", resolve));
      written += 1;
    }
    response.end(exit(0));
  });
  const controller = new AbortController();
  const error = await run({
    signal: controller.signal,
    onStdout: async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      controller.abort();
    },
  }).catch((error) => error);
  expect(error.name).toBe("AbortError");
  expect(written).toBeLessThan(2000);
});

test("a signal ends also what waits for a callback that never settles", async () => {
  server.on(STREAM, sse([event("stdout", { chunk: "a" }), exit(0)]));
  const controller = new AbortController();
  const onStdout = () => {
    controller.abort(new Error("enough"));
    return new Promise(() => {});
  };
  const error = await run({ signal: controller.signal, onStdout }).catch((error) => error);
  expect(error).toMatchObject({ name: "AbortError", stdout: "a", cause: new Error("enough") });
  await server.until(() => server.sockets.size === 0);
});
