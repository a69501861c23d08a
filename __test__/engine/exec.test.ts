import { NotFoundError, Sandbox, SandboxTimeout } from "@pandastack/sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestEngine } from "../support/engine.js";

let engine: TestEngine;
let sandbox: Sandbox;

beforeAll(async () => {
  engine = await TestEngine.start();
  sandbox = await Sandbox.create({}, { apiUrl: engine.apiUrl });
});
afterAll(async () => {
  await engine?.stop();
});

test("exec gives both streams and the exit code", async () => {
  expect(await sandbox.exec("echo out; echo err >&2; exit 7")).toMatchObject({
    stdout: "out\n",
    stderr: "err\n",
    exit_code: 7,
    exitCode: 7,
  });
  expect((await sandbox.exec("kill -9 $$")).exitCode).toBe(137);
});

test("execStream hands over the first line before the second exists", async () => {
  const times: number[] = [];
  let text = "";
  const code = await sandbox.execStream("for i in 1 2 3; do echo $i; sleep 1; done", {
    onStdout: (chunk) => {
      times.push(Date.now());
      text += chunk;
    },
  });
  expect(code).toBe(0);
  expect(text).toBe("1\n2\n3\n");
  expect(times).toHaveLength(3);
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(500);
});

test("execStream returns the exit code", async () => {
  expect(await sandbox.execStream("exit 7")).toBe(7);
});

test("fault 4.5, 4.6, 4.7: a time limit ends the whole process group and keeps the output", async () => {
  // Without the limit the test would be over before the command.
  const failure = await sandbox
    .exec("sh -c 'echo partial; sleep 300 & sleep 300'", { timeoutSeconds: 1 })
    .catch((error) => error);
  expect(failure).toBeInstanceOf(SandboxTimeout);
  expect(failure.stdout).toBe("partial\n");
  expect((await sandbox.exec("pgrep -x sleep | wc -l")).stdout.trim()).toBe("0");
});

test("a command whose caller goes away is ended", async () => {
  const abort = new AbortController();
  const running = sandbox.execStream("sleep 301", { signal: abort.signal });
  setTimeout(() => abort.abort(), 300);
  await expect(running).rejects.toMatchObject({ code: "aborted" });
  await expect.poll(async () => (await sandbox.exec("pgrep -x sleep | wc -l")).stdout.trim(), { timeout: 5000 }).toBe("0");
});

test("fault 4.1: characters that arrive byte by byte stay whole on both streams", async () => {
  const script = `import sys,time
for byte in 'é😀漢'.encode():
    for stream in (sys.stdout, sys.stderr):
        stream.buffer.write(bytes([byte])); stream.buffer.flush()
    time.sleep(0.01)`;
  await sandbox.filesystem.write("/tmp/bytes.py", script);
  const { stdout, stderr } = await sandbox.exec("python3 /tmp/bytes.py");
  expect([stdout, stderr]).toEqual(["é😀漢", "é😀漢"]);
  let streamed = "";
  await sandbox.execStream("python3 /tmp/bytes.py", {
    onStdout: (chunk) => {
      streamed += chunk;
    },
  });
  expect(streamed).toBe("é😀漢");
});

test("standard input is at its end", async () => {
  expect((await sandbox.exec("cat; echo done", { timeoutSeconds: 5 })).stdout).toBe("done\n");
});

test("fault 4.17: files come back byte for byte", async () => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  const path = "/root/a b'\"\n😀/bytes.bin";
  await sandbox.filesystem.write(path, bytes);
  expect(Buffer.from(await sandbox.filesystem.readBytes(path)).equals(bytes)).toBe(true);
  expect(await sandbox.filesystem.stat(path)).toMatchObject({ size: 256, is_dir: false });
  expect((await sandbox.filesystem.list("/root")).map((entry) => entry.name)).toContain("a b'\"\n😀");
  expect(await sandbox.filesystem.exists("/root/missing")).toBe(false);
  await expect(sandbox.filesystem.read("/root/missing")).rejects.toBeInstanceOf(NotFoundError);
  await sandbox.filesystem.write("/root/empty", "");
  expect(await sandbox.filesystem.read("/root/empty")).toBe("");
});

test("fault 4.18: 64 MiB go up and down unchanged", async () => {
  const bytes = Buffer.alloc(64 << 20);
  for (let i = 0; i < bytes.length; i += 4096) bytes.writeUInt32LE(i, i);
  await sandbox.filesystem.write("/root/big.bin", bytes);
  expect(Buffer.from(await sandbox.filesystem.readBytes("/root/big.bin")).equals(bytes)).toBe(true);
  await sandbox.exec("rm /root/big.bin");
});
