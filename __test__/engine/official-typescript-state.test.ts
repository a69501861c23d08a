// Snapshots, forks and hibernation with the official npm package 0.9.0, unmodified, against the engine over TCP.
import { Client, NotFoundError, PandaStackError, Sandbox } from "pandastack-sdk-0.9.0";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { freePort, TestEngine } from "../support/engine.js";

let engine: TestEngine;
let config: { apiUrl: string; apiKey: string };
let made: Sandbox[] = [];

async function create(options: Parameters<typeof Sandbox.create>[0] = {}): Promise<Sandbox> {
  const sandbox = await Sandbox.create({ template: "code-interpreter", ...options }, config);
  made.push(sandbox);
  return sandbox;
}

beforeAll(async () => {
  const port = await freePort();
  engine = await TestEngine.start(["--listen", `127.0.0.1:${port}`]);
  const { stdout } = await engine.cli("token", "create", "--label", "official");
  config = { apiUrl: `http://127.0.0.1:${port}`, apiKey: /pds_[0-9a-f]{32}/.exec(stdout)?.[0] ?? "" };
});
afterEach(async () => {
  await Promise.all(made.map((sandbox) => sandbox.kill().catch(() => {})));
  made = [];
});
afterAll(async () => {
  await engine?.stop();
});

test("a sandbox from a snapshot has imports and data still loaded", async () => {
  const sandbox = await create();
  const context = await sandbox.createCodeContext();
  await context.runCode("import pandas as pd; frame = pd.DataFrame({'a': [40, 2]})");
  await sandbox.filesystem.write("/root/kept.txt", "kept");
  const snapshot = await sandbox.snapshot();
  await context.runCode("del frame");

  const copy = await create({ from_snapshot: snapshot.id });
  const inherited = await copy.createCodeContext();
  expect((await inherited.runCode("int(frame.a.sum())")).text).toBe("42");
  expect(await copy.filesystem.read("/root/kept.txt")).toBe("kept");
  expect((await context.runCode("frame")).error).toContain("NameError");

  const client = new Client(config);
  expect((await client.snapshots.list({ sandbox_id: sandbox.id })).map(({ id }) => id)).toEqual([snapshot.id]);
  expect(await client.snapshots.get(snapshot.id)).toMatchObject({ id: snapshot.id, template: "code-interpreter" });
  await client.snapshots.delete(snapshot.id);
  await expect(create({ from_snapshot: snapshot.id })).rejects.toBeInstanceOf(NotFoundError);
});

test("fork", async () => {
  const sandbox = await create();
  await sandbox.exec("echo parent > /root/who");
  const child = await sandbox.fork({ metadata: { task: "a" } });
  made.push(child);
  await child.exec("echo child > /root/who");
  expect((await sandbox.exec("cat /root/who")).stdout).toBe("parent\n");
  expect((await child.exec("cat /root/who")).stdout).toBe("child\n");
  expect(child.id).not.toBe(sandbox.id);
});

test("forkTree and promote", async () => {
  const sandbox = await create();
  const children = await sandbox.forkTree({ count: 3 });
  made.push(...children);
  expect(children).toHaveLength(3);
  const [first, winner, third] = children as [Sandbox, Sandbox, Sandbox];
  const promotion = await winner.promote({ cleanupSiblings: true });
  expect(promotion.winner).toBe(winner.id);
  expect([...(promotion.deleted ?? [])].sort()).toEqual([first.id, third.id].sort());
  expect((await winner.exec("echo alive")).stdout).toBe("alive\n");
  await expect(first.exec("true")).rejects.toBeInstanceOf(NotFoundError);
});

test("explore", async () => {
  const sandbox = await create();
  const result = await sandbox.explore(["exit 1", "echo 7 > /root/answer"]);
  const winner = result.winner as Sandbox;
  made.push(winner);
  expect((await winner.exec("cat /root/answer")).stdout).toBe("7\n");
  expect(result.reaped).toHaveLength(1);
});

test("pause and resume", async () => {
  const sandbox = await create();
  const client = new Client(config);
  await sandbox.pause();
  expect((await client.sandboxes.get(sandbox.id)).info.status).toBe("paused");
  await expect(sandbox.exec("true")).rejects.toThrow(/paused/);
  await expect(sandbox.exec("true")).rejects.toBeInstanceOf(PandaStackError);
  await sandbox.resume();
  expect((await sandbox.exec("echo on")).stdout).toBe("on\n");
});

test("hibernate and wake", async () => {
  const sandbox = await create();
  const client = new Client(config);
  const context = await sandbox.createCodeContext();
  await context.runCode("x = 41");
  await sandbox.hibernate();
  expect((await client.sandboxes.get(sandbox.id)).info.status).toBe("hibernated");
  await sandbox.wake();
  await sandbox.wake();
  expect((await context.runCode("x + 1")).text).toBe("42");
  await sandbox.hibernate();
  expect((await context.runCode("x + 2")).text, "use wakes it").toBe("43");
});

test("lifecycle", async () => {
  const sandbox = await create();
  await sandbox.setTtl(120);
  expect((await sandbox.lifecycle()).ttl_seconds).toBe(120);
  await sandbox.hibernate();
  await sandbox.setPersistent(true);
  expect((await sandbox.lifecycle()).persistent).toBe(true);
  await sandbox.setPersistent(false);
});
