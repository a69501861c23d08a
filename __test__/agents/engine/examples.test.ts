// Every example, run as a newcomer would.
import { execFile } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestEngine } from "../../support/engine.js";

const run = promisify(execFile);
const repository = new URL("../../..", import.meta.url).pathname;
const python = `${repository}.venv/bin/python`;
let engine: TestEngine;
let port: number;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return address.port;
}

beforeAll(async () => {
  port = await freePort();
  engine = await TestEngine.start(["--listen", `127.0.0.1:${port}`]);
});
afterAll(async () => {
  await engine?.stop();
});

async function example(path: string): Promise<string> {
  const { OPENAI_API_KEY: _openai, ANTHROPIC_API_KEY: _anthropic, ...env } = engine.env;
  const { stdout } = await run("node", [path], { cwd: repository, env, timeout: 120_000 });
  return stdout;
}

test("quickstart ends with the path of a chart", async () => {
  rmSync(`${repository}out/chart.png`, { force: true });
  const stdout = await example("examples/quickstart.mjs");
  expect(stdout).toContain("66 years, 1959 to 2024");
  expect(stdout).toContain("KeyError: 'ppm'");
  expect(stdout.trimEnd().split("\n").at(-1)).toBe("out/chart.png");
  const chart = readFileSync(`${repository}out/chart.png`);
  expect(chart.subarray(1, 4).toString()).toBe("PNG");
  expect(chart.length).toBeGreaterThan(5000);
});

test.each(["examples/typescript/ai-sdk/analyst.mjs", "examples/typescript/mastra/analyst.mjs"])("%s", async (path) => {
  const stdout = await example(path);
  expect(stdout).toContain("KeyError: 'ppm'");
  expect(stdout.trimEnd().split("\n").at(-1)).toContain("108.63");
});

test.skipIf(!existsSync(python))("the universal pattern in Python, with the official package", async () => {
  const { stdout: token } = await engine.cli("token", "create", "--label", "example");
  const key = /pds_[0-9a-f]{32}/.exec(token)?.[0];
  const env = { ...engine.env, PANDASTACK_API: `http://127.0.0.1:${port}`, PANDASTACK_API_KEY: key };
  const { stdout } = await run(python, ["examples/python/universal_pattern.py"], { cwd: repository, env, timeout: 120_000 });
  expect(stdout).toMatch(/\(\d+\.\d+, \d+\.\d+\)/);
  expect(stdout).toContain("NameError: name 'plt' is not defined");
  expect(stdout).toContain("(chart: ");
});
