import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestEngine } from "../support/engine.js";

const run = promisify(execFile);
const repository = new URL("../..", import.meta.url).pathname;
let engine: TestEngine;

beforeAll(async () => {
  engine = await TestEngine.start();
});
afterAll(async () => {
  await engine?.stop();
});

test("a script that closes nothing ends by itself", async () => {
  const script = `
    import { Sandbox } from "@pandastack/sdk";
    const sandbox = await Sandbox.create();
    const context = await sandbox.createCodeContext();
    console.log((await context.runCode("6 * 7")).text);`;
  const { stdout } = await run("node", ["--input-type=module", "-e", script], {
    cwd: repository,
    env: engine.env,
    timeout: 30_000,
  });
  expect(stdout).toBe("42\n");
});

test("a script that is required does the same", async () => {
  const script = `
    const { Sandbox } = require("@pandastack/sdk");
    Sandbox.create().then(async (sandbox) => console.log((await sandbox.exec("echo hi")).stdout.trim()));`;
  const { stdout } = await run("node", ["-e", script], { cwd: repository, env: engine.env, timeout: 30_000 });
  expect(stdout).toBe("hi\n");
});
