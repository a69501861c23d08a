import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, NotFoundError, type Sandbox } from "@pandastack/sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestEngine } from "../support/engine.js";

let engine: TestEngine;
let sandbox: Sandbox;
beforeAll(async () => {
  engine = await TestEngine.start();
  sandbox = await new Client({ apiUrl: engine.apiUrl }).sandboxes.create();
});
afterAll(async () => {
  await sandbox?.kill();
  await engine?.stop();
});

const ODD = '/tmp/it\'s a "test"\n$(touch /tmp/evil) 😀';

test("files with any name are made, moved, copied and given a mode", async () => {
  const { filesystem } = sandbox;
  await filesystem.mkdir(`${ODD}/deep/er`);
  await filesystem.write(`${ODD}/a`, "x");
  await filesystem.rename(`${ODD}/a`, `${ODD}/-b`);
  await filesystem.copy(ODD, "/tmp/copy", { recursive: true });
  await filesystem.chmod("/tmp/copy/-b", 0o600);
  expect(await filesystem.read("/tmp/copy/-b")).toBe("x");
  expect((await sandbox.exec("stat -c %a /tmp/copy/-b")).stdout).toBe("600\n");
  expect(await filesystem.exists(`${ODD}/a`)).toBe(false);
  expect(await filesystem.exists("/tmp/evil")).toBe(false);
  await expect(filesystem.rename("/tmp/nothing", "/tmp/x")).rejects.toBeInstanceOf(NotFoundError);
});

test("a directory goes up and comes down as it was", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pandastack-"));
  const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 256));
  mkdirSync(join(folder, "in/empty"), { recursive: true });
  writeFileSync(join(folder, "in/ä b.bin"), bytes);
  await sandbox.filesystem.uploadDirectory(join(folder, "in"), "/tmp/up");
  await sandbox.exec("ln -s /etc/passwd /tmp/up/link && mkfifo /tmp/up/pipe");
  await sandbox.filesystem.downloadDirectory("/tmp/up", join(folder, "out"));
  expect(readFileSync(join(folder, "out/ä b.bin")).equals(bytes)).toBe(true);
  const found = await sandbox.exec("ls /tmp/up");
  expect(found.stdout).toContain("empty");
  expect(() => readFileSync(join(folder, "out/link"))).toThrow();
});

test("fault 4.9: a running command is read and ended", async () => {
  await using command = await sandbox.commands.start("echo ready; exec sleep 300");
  for await (const event of command) {
    if (event.type === "stdout") expect(event.text).toBe("ready\n");
    break;
  }
  await expect.poll(async () => (await sandbox.exec("pgrep -c sleep || true")).stdout.trim(), { timeout: 20_000 }).toBe("0");
});

test("walk follows links into each directory once, through names of any kind", async () => {
  const setUp = `mkdir -p /tmp/w/a "/tmp/w/b c" && touch /tmp/w/a/f "/tmp/w/b c/g" && ln -s /tmp/w /tmp/w/a/up && ln -s "/tmp/w/b c" /tmp/w/$'l\\n1' && ln -s /nowhere /tmp/w/broken`;
  expect((await sandbox.exec(["bash", "-c", setUp])).exitCode).toBe(0);
  const found: string[] = [];
  for await (const { files } of sandbox.filesystem.walk("/tmp/w", { followSymlinks: true }))
    found.push(...files.map(({ path }) => path));
  expect(found.sort()).toEqual(["/tmp/w/a/f", "/tmp/w/b c/g", "/tmp/w/broken"]);
  const plain: string[] = [];
  for await (const { dirs } of sandbox.filesystem.walk("/tmp/w")) plain.push(...dirs.map(({ path }) => path));
  expect(plain.sort()).toEqual(["/tmp/w/a", "/tmp/w/b c"]);
});
