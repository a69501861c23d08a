import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { Sandbox } from "@pandastack/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestEngine } from "../support/engine.js";
import { processesNaming, rows, runscProcesses } from "../support/host.js";

let engine: TestEngine;

beforeEach(async () => {
  engine = await TestEngine.start();
});
afterEach(async () => {
  await engine?.stop();
});

for (const signal of ["SIGKILL", "SIGTERM"] as const) {
  test(`sandboxes outlive a daemon that was ended by ${signal}, with variables and files`, async () => {
    const config = { apiUrl: engine.apiUrl };
    const sandbox = await Sandbox.create({ metadata: { test: "crash" } }, config);
    const context = await sandbox.createCodeContext();
    await context.runCode("x = 41");
    await sandbox.filesystem.write("/root/note", "still here");

    await engine.kill(signal);
    expect(processesNaming(engine.home).length).toBeGreaterThan(0);
    await engine.serve();

    const found = (await Sandbox.list(config)).find(({ id }) => id === sandbox.id);
    expect(found?.info.metadata).toEqual({ test: "crash" });
    expect((await context.runCode("x + 1")).text).toBe("42");
    expect(await sandbox.filesystem.read("/root/note")).toBe("still here");
  });
}

test("fault 4.3: a stream that the daemon's death cuts is rejected with what had arrived", async () => {
  const sandbox = await Sandbox.create({}, { apiUrl: engine.apiUrl });
  let seen = "";
  const running = sandbox
    .execStream("echo first; sleep 60; echo second", {
      onStdout: (chunk) => {
        seen += chunk;
        void engine.kill("SIGKILL");
      },
    })
    .catch((error) => error);
  const failure = await running;
  expect(failure).toMatchObject({ name: "InterruptedError", code: "interrupted", stdout: "first\n" });
  expect(seen).toBe("first\n");
});

test("engine stop --kill leaves no process, mount or socket", async () => {
  await Sandbox.create({}, { apiUrl: engine.apiUrl });
  await Sandbox.create({}, { apiUrl: engine.apiUrl });
  await engine.cli("engine", "stop", "--kill");
  await expect.poll(() => processesNaming(engine.home), { timeout: 10_000 }).toEqual([]);
  expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(engine.home);
  expect(execFileSync("find", [engine.home, "-type", "s", "-o", "-type", "p"], { encoding: "utf8" })).toBe("");
});

test("a second daemon in the same home is refused, and the first goes on", async () => {
  await expect(engine.cli("serve")).rejects.toMatchObject({ stderr: expect.stringContaining("already running") });
  await engine.cli("engine", "status");
});

test("sandboxes that were kept ready and are killed are given up", async () => {
  const kept = () => runscProcesses(engine.home).filter((process) => process.isSandbox);
  const ready = async () => {
    const { ready, blank } = JSON.parse((await engine.cli("engine", "status", "--json")).stdout);
    return ready + blank;
  };
  await expect.poll(ready, { timeout: 30_000 }).toBe(2);
  const killed = kept();
  for (const { pid } of killed) process.kill(pid, "SIGKILL");
  const ids = () => rows(engine.home, "sandboxes").map((row) => row.id);
  await expect.poll(() => ids().filter((id) => killed.some((process) => process.id === id)), { timeout: 30_000 }).toEqual([]);
  const sandbox = await Sandbox.create({}, { apiUrl: engine.apiUrl });
  expect((await sandbox.exec("echo alive")).stdout).toBe("alive\n");
});

test("an engine whose log cannot be written goes on", async () => {
  await engine.kill("SIGKILL");
  await engine.serve("/dev/full");
  const sandbox = await Sandbox.create({}, { apiUrl: engine.apiUrl });
  for (const { pid } of runscProcesses(engine.home).filter((process) => process.id === sandbox.id)) process.kill(pid, "SIGKILL");
  // What becomes of it is logged, and told.
  await expect.poll(async () => (await sandbox.refresh()).status, { timeout: 30_000 }).toBe("failed");
  expect((await (await Sandbox.create({}, { apiUrl: engine.apiUrl })).exec("echo alive")).stdout).toBe("alive\n");
});
