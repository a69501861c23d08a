// PANDASTACK_API=local: the SDK finds the engine, or starts it.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestEngine } from "../support/engine.js";

const run = promisify(execFile);
const repository = new URL("../..", import.meta.url).pathname;
let engine: TestEngine;

beforeEach(async () => {
  engine = await TestEngine.start();
});
afterEach(async () => {
  await engine?.stop();
});

const script = `
  import { Sandbox } from "@pandastack/sdk";
  const sandbox = await Sandbox.create();
  console.log((await sandbox.exec("echo started")).stdout.trim());
  await sandbox.kill();`;

const runScript = () =>
  run("node", ["--input-type=module", "-e", script], {
    cwd: repository,
    env: { ...engine.env, PANDASTACK_API: "local" },
    timeout: 60_000,
  });

test("several programs at once start one engine", async () => {
  await engine.cli("engine", "stop", "--kill");
  await engine.kill("SIGKILL");
  const runs = await Promise.all([runScript(), runScript(), runScript()]);
  expect(runs.map(({ stdout }) => stdout)).toEqual(["started\n", "started\n", "started\n"]);
  expect(existsSync(engine.socket)).toBe(true);
});

test("a running engine is used", async () => {
  expect((await runScript()).stdout).toBe("started\n");
});

test("an engine that was never set up is named, with the command that sets it up", async () => {
  const empty = await run("mktemp", ["-d"]);
  const failure = await run("node", ["--input-type=module", "-e", script], {
    cwd: repository,
    env: { ...engine.env, PANDASTACK_API: "local", PANDASTACK_HOME: empty.stdout.trim() },
    timeout: 60_000,
  }).catch((error) => error);
  expect(failure.stderr).toContain("pandastack engine setup");
  await run("rm", ["-rf", empty.stdout.trim()]);
});
