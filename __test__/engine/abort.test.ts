import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "@pandastack/sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestEngine } from "../support/engine.js";

let engine: TestEngine;
beforeAll(async () => {
  engine = await TestEngine.start();
});
afterAll(async () => {
  await engine?.stop();
});

test("creates that are aborted leave no sandbox and hold nobody up", async () => {
  const { sandboxes } = new Client({ apiUrl: engine.apiUrl });
  const outcomes = Array.from({ length: 12 }, async (_, index) => {
    const controller = new AbortController();
    const creation = sandboxes.create({ signal: controller.signal }).then(
      (sandbox) => sandbox.kill(),
      (error: unknown) => expect(error).toMatchObject({ name: "AbortError" }),
    );
    await sleep(index * 15);
    controller.abort();
    await creation;
  });
  await Promise.all(outcomes);
  const sandbox = await sandboxes.create();
  expect((await sandbox.exec("echo here")).stdout).toBe("here\n");
  await sandbox.kill();
  for (let tries = 0; (await sandboxes.list()).length > 0; tries += 1) {
    expect(tries).toBeLessThan(200);
    await sleep(50);
  }
});

test("bytes of a running command are exact", async () => {
  const { sandboxes } = new Client({ apiUrl: engine.apiUrl });
  const sandbox = await sandboxes.create();
  const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  await sandbox.filesystem.write("/root/bytes", all);
  const command = await sandbox.exec(["cat", "/root/bytes"], { stream: true });
  const pieces: Buffer[] = [];
  for await (const piece of command.bytes()) pieces.push(piece);
  expect(Buffer.concat(pieces)).toEqual(all);
  expect((await command.wait()).exitCode).toBe(0);
  const kept = await sandbox.exec("yes | head -c 10000000", { maxOutputBytes: 1000 });
  expect(kept).toMatchObject({ exitCode: 0, truncated: true });
  expect(kept.stdout.length).toBeLessThan(1100);
  await sandbox.kill();
});

test("code contexts whose creation is aborted leave no kernel", async () => {
  const { sandboxes } = new Client({ apiUrl: engine.apiUrl });
  const sandbox = await sandboxes.create();
  for (let delay = 0; delay < 150; delay += 10) {
    const controller = new AbortController();
    const creation = sandbox.createCodeContext({ signal: controller.signal });
    setTimeout(() => controller.abort(), delay);
    await creation.then(
      (context) => context.close(),
      (error: unknown) => expect(error).toMatchObject({ name: "AbortError" }),
    );
  }
  for (let tries = 0; (await sandbox.listCodeContexts()).length > 0; tries += 1) {
    expect(tries).toBeLessThan(200);
    await sleep(50);
  }
  await sandbox.kill();
});
