import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { Sandbox } from "@pandastack/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestEngine } from "../support/engine.js";

let engine: TestEngine;

beforeEach(async () => {
  engine = await TestEngine.start();
});
afterEach(async () => {
  await engine?.stop();
});

/** Processes of this host whose command line names the engine's home. */
function processesOf(home: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(home);
      } catch {
        return false;
      }
    });
}

for (const signal of ["SIGKILL", "SIGTERM"] as const) {
  test(`sandboxes outlive a daemon that was ended by ${signal}, with variables and files`, async () => {
    const config = { apiUrl: engine.apiUrl };
    const sandbox = await Sandbox.create({ metadata: { test: "crash" } }, config);
    const context = await sandbox.createCodeContext();
    await context.runCode("x = 41");
    await sandbox.filesystem.write("/root/note", "still here");

    await engine.kill(signal);
    expect(processesOf(engine.home).length).toBeGreaterThan(0);
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
  await expect.poll(() => processesOf(engine.home), { timeout: 10_000 }).toEqual([]);
  expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(engine.home);
  expect(execFileSync("find", [engine.home, "-type", "s", "-o", "-type", "p"], { encoding: "utf8" })).toBe("");
});

test("a second daemon in the same home is refused, and the first goes on", async () => {
  await expect(engine.cli("serve")).rejects.toMatchObject({ stderr: expect.stringContaining("already running") });
  await engine.cli("engine", "status");
});
