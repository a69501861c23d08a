import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox } from "@pandastack/sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestEngine } from "../support/engine.js";

let engine: TestEngine;
let sandbox: Sandbox;
let server: Server;
let port: number;
let hits = 0;

beforeAll(async () => {
  process.env.PANDASTACK_TEST_HOST_SECRET = "host-secret-value";
  engine = await TestEngine.start();
  sandbox = await Sandbox.create({}, { apiUrl: engine.apiUrl });
  server = createServer((_, response) => {
    hits++;
    response.end("reached the host");
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(async () => {
  server?.close();
  await engine?.stop();
});

test("the host's files, processes, environment and interfaces are not visible", async () => {
  const folder = mkdtempSync(join(tmpdir(), "host-only-"));
  writeFileSync(join(folder, "file"), "host");
  try {
    expect((await sandbox.exec(`cat ${folder}/file`)).exitCode).not.toBe(0);
  } finally {
    rmSync(folder, { recursive: true });
  }
  const { stdout: environment } = await sandbox.exec("env; cat /proc/*/environ | tr '\\0' '\\n'");
  expect(environment).not.toContain("host-secret-value");
  const { stdout: processes } = await sandbox.exec("cat /proc/[0-9]*/cmdline | tr '\\0' ' '");
  expect(processes).not.toMatch(/vitest|runsc|pandastack serve/);
  const { stdout: interfaces } = await sandbox.exec("cat /proc/net/dev | tail -n +3 | cut -d: -f1");
  expect(
    interfaces
      .trim()
      .split(/\s+/)
      .filter(Boolean)
      .every((name) => name === "lo"),
  ).toBe(true);
  expect((await sandbox.exec("hostname; cat /etc/hostname /etc/hosts")).stdout).not.toContain(hostname());
});

test("the agent cannot be seen, signalled, traced or written to", async () => {
  // What runs for the user has an init of its own, a copy of the agent's program that holds none of its descriptors.
  const { stdout } = await sandbox.exec("grep -l '[p]andastack-guest' /proc/[0-9]*/cmdline; cat /proc/1/status");
  expect(stdout.match(/^\/proc\/.*cmdline$/gm)).toEqual(["/proc/1/cmdline"]);
  expect(stdout).toMatch(/^Threads:\s+1$/m);
  const attack = await sandbox.exec(
    `kill -STOP 1; kill -ILL 1; kill -TERM 1
    for fd in $(ls /proc/1/fd) 0 1 2; do echo garbage > /proc/1/fd/$fd && echo WROTE $fd; done
    umount -l /proc && echo UNMOUNTED; mount -t proc proc /mnt && echo MOUNTED; nsenter -t 1 -p -m true && echo ENTERED
    python3 -c 'import ctypes; print("TRACED" if ctypes.CDLL(None).ptrace(16, 1, 0, 0) == 0 else "refused")'; true`,
  );
  expect(attack.stdout.trim()).toBe("refused");
  expect((await sandbox.exec("echo alive")).stdout).toBe("alive\n");
  const context = await sandbox.createCodeContext();
  expect((await context.runCode("6 * 7")).text).toBe("42");
  await context.close();
});

test("killing all that it can see costs a sandbox its processes, not its agent or its files", async () => {
  const own = await Sandbox.create({}, { apiUrl: engine.apiUrl });
  await own.filesystem.write("/root/note", "kept");
  const context = await own.createCodeContext();
  await own.exec("kill -9 1; kill -9 -1").catch(() => undefined);
  expect((await own.exec("echo alive; cat /root/note")).stdout).toBe("alive\nkept");
  const execution = await context.runCode("6 * 7");
  expect(execution.text ?? execution.error).toMatch(/42|kernel/);
  expect((await context.runCode("6 * 7")).text).toBe("42");
  await own.kill();
});

const refused: [string, () => string][] = [
  ["the host's loopback", () => `http://127.0.0.1:${port}/`],
  ["the host's loopback under another name", () => `http://localtest.localhost:${port}/`],
  ["an IPv4-mapped loopback", () => `http://[::ffff:127.0.0.1]:${port}/`],
  ["the metadata service", () => "http://169.254.169.254/latest/meta-data/"],
  ["a private network", () => "http://10.0.0.1/"],
  ["another private network", () => "http://192.168.1.1:8080/"],
];
for (const [name, url] of refused) {
  test(`a connection to ${name} fails with a clear error`, async () => {
    const { stdout } = await sandbox.exec(`curl -sS -i --max-time 10 --noproxy '' -x http://127.0.0.1:3128 '${url()}' 2>&1`);
    expect(stdout).toMatch(/403 Forbidden by sandbox policy|502/);
    expect(hits).toBe(0);
  });
}

test("Python shows why a connection was refused", async () => {
  const context = await sandbox.createCodeContext();
  const { error } = await context.runCode("import urllib.request\nurllib.request.urlopen('http://169.254.169.254/')");
  expect(error).toMatch(/Forbidden by sandbox policy/);
  await context.close();
});

test("there is no way around the proxy", async () => {
  const { stdout } = await sandbox.exec(
    `curl -sS --max-time 5 --noproxy '*' http://127.0.0.1:${port}/ 2>&1; curl -sS --max-time 5 --noproxy '*' http://10.0.0.1/ 2>&1; true`,
  );
  expect(stdout).not.toContain("reached the host");
  expect(hits).toBe(0);
});

test("rm -rf / hurts nothing but its own sandbox", async () => {
  const config = { apiUrl: engine.apiUrl };
  const victim = await Sandbox.create({}, config);
  const context = await victim.createCodeContext();
  await context
    .runCode("import os\nos.system('rm -rf --no-preserve-root / 2>/dev/null')", { timeoutSeconds: 60 })
    .catch(() => undefined);
  expect((await sandbox.exec("ls /usr/bin | wc -l; echo fine")).stdout).toContain("fine");
  expect(existsSync("/usr/bin/env")).toBe(true);
  await victim.kill();
  const next = await Sandbox.create({}, config);
  expect((await next.exec("python3 -c 'print(6 * 7)'")).stdout).toBe("42\n");
  await next.kill();
});
