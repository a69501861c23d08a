// Every example, run as a newcomer would.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort, TestEngine } from "../../support/engine.js";

const run = promisify(execFile);
const repository = new URL("../../..", import.meta.url).pathname;
const python = `${repository}.venv/bin/python`;
let engine: TestEngine;
let port: number;

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

/** The JavaScript of sections of the README, in the order of their names. */
function readmeCode(...names: string[]): string {
  const sections = readFileSync(`${repository}README.md`, "utf8").split(/^## /m);
  const chosen = names.map((name) => sections.find((text) => text.startsWith(`${name}\n`)) ?? "");
  return chosen.flatMap((text) => [...text.matchAll(/^```js\n([\s\S]*?)^```/gm)].map(([, block]) => block)).join("\n");
}

test("the first sections of the README, put together, are a program", async () => {
  // The section on files ends the sandbox.
  const code = readmeCode("A sandbox and its kernel", "Commands", "Errors", "Files");
  const folder = mkdtempSync(join(tmpdir(), "pandastack-readme-"));
  try {
    writeFileSync(join(folder, "data.csv"), "a,b\n1,2\n");
    mkdirSync(join(folder, "project"));
    const program = `process.chdir(${JSON.stringify(folder)});\n${code}\nconsole.log(JSON.stringify([answer.text, failed.error, exitCode, code]));`;
    const { stdout } = await run("node", ["--input-type=module", "-e", program], {
      cwd: repository,
      env: engine.env,
      timeout: 120_000,
    });
    expect(JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "")).toEqual([
      "42",
      expect.stringMatching(/ZeroDivisionError: division by zero\s*$/),
      0,
      0,
    ]);
    expect(stdout).toContain("0\n1\n2\n1\n2\n3\n");
    expect(stdout).toContain("sandbox_timeout");
    expect(readFileSync(join(folder, "notes.txt"), "utf8")).toBe("hello");
    expect(readFileSync(join(folder, "chart.png")).subarray(1, 4).toString()).toBe("PNG");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each([
  [
    "A tool for your agent: AI SDK",
    `import { chooseModel } from "./examples/typescript/ai-sdk/model.mjs"; const model = await chooseModel(), show = console.log;`,
    "",
  ],
  [
    "A tool for your agent: Mastra",
    `import { scriptedModel } from "./examples/typescript/mastra/model.mjs"; const model = scriptedModel(), instructions = "Compute.";`,
    "await (await analyst.stream('Compute.')).consumeStream(); await runCode.close();",
  ],
])("the README's example of %s runs", async (section, before, after) => {
  const { OPENAI_API_KEY: _openai, ANTHROPIC_API_KEY: _anthropic, ...env } = engine.env;
  const program = `${before}\n${readmeCode(section)}\n${after}\nconsole.log("end");`;
  const options = { cwd: repository, env, timeout: 120_000 };
  const { stdout } = await run("node", ["--input-type=module", "-e", program], options);
  expect(stdout.endsWith("end\n")).toBe(true);
});

test("a program that never closes its tool ends by itself", async () => {
  const program = `
    import { runCodeTool } from "@pandastack/sdk/ai";
    console.log((await runCodeTool({ idleSeconds: 600 }).session.run("6 * 7")).text);`;
  const options = { cwd: repository, env: engine.env, timeout: 60_000 };
  const { stdout } = await run("node", ["--input-type=module", "-e", program], options);
  expect(stdout).toBe("42\n");
});

test.each(["examples/typescript/ai-sdk/analyst.mjs", "examples/typescript/mastra/analyst.mjs"])("%s", async (path) => {
  const stdout = await example(path);
  expect(stdout).toContain("KeyError: 'ppm'");
  expect(stdout.trimEnd().split("\n").at(-1)).toContain("108.63");
});

// `make test` prepares that environment; without it there is no official package to run.
test.skipIf(!existsSync(python))("the universal pattern in Python, with the official package", async () => {
  const { stdout: token } = await engine.cli("token", "create", "--label", "example");
  const key = /pds_[0-9a-f]{32}/.exec(token)?.[0];
  const env = { ...engine.env, PANDASTACK_API: `http://127.0.0.1:${port}`, PANDASTACK_API_KEY: key };
  const { stdout } = await run(python, ["examples/python/universal_pattern.py"], { cwd: repository, env, timeout: 120_000 });
  expect(stdout).toMatch(/\(\d+\.\d+, \d+\.\d+\)/);
  expect(stdout).toContain("NameError: name 'plt' is not defined");
  expect(stdout).toContain("(chart: ");
});
