import { Sandbox } from "@pandastack/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestEngine } from "../support/engine.js";

let engine: TestEngine;
let sandbox: Sandbox;

beforeAll(async () => {
  engine = await TestEngine.start();
  sandbox = await Sandbox.create({}, { apiUrl: engine.apiUrl });
});
afterAll(async () => {
  await engine?.stop();
});

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

describe("a cell", () => {
  test("sees what the cells before it made", async () => {
    const context = await sandbox.createCodeContext();
    await context.runCode("x = 41");
    const execution = await context.runCode("x + 1");
    expect(execution.text).toBe("42");
    expect(execution.error).toBeUndefined();
    expect(execution.exitCode).toBe(0);
    await context.close();
  });

  test("gives a traceback without escape codes, not a rejection", async () => {
    const context = await sandbox.createCodeContext();
    const { error, errorInfo } = await context.runCode("a = 1\n1/0");
    expect(error?.trimEnd()).toMatch(/ZeroDivisionError: division by zero$/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape codes are what must not be there
    expect(error).not.toMatch(/\x1b/);
    expect(error).not.toMatch(/pandastack_kernel/);
    expect(errorInfo).toMatchObject({ name: "ZeroDivisionError", value: "division by zero", line: 2 });
    await context.close();
  });

  test("shows a DataFrame as a table", async () => {
    const context = await sandbox.createCodeContext();
    const { results } = await context.runCode("import pandas as pd\npd.DataFrame({'a': [1, 2]})");
    expect(results).toHaveLength(1);
    expect(results[0]?.html).toContain("<table");
    expect(results[0]?.text).toContain("a");
    await context.close();
  });

  test("shows a matplotlib chart as a PNG", async () => {
    const context = await sandbox.createCodeContext();
    const execution = await context.runCode("import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.show()");
    expect(Buffer.from(execution.png ?? "", "base64").subarray(0, 8)).toEqual(PNG);
    await context.close();
  });

  test("shows a plotly figure as HTML and PNG in one result", async () => {
    const context = await sandbox.createCodeContext();
    const { results, error } = await context.runCode("import plotly.express as px\npx.line(x=[1, 2], y=[3, 4])", {
      timeoutSeconds: 60,
    });
    expect(error).toBeUndefined();
    expect(results).toHaveLength(1);
    expect(results[0]?.html).toContain("plotly");
    expect(Buffer.from(results[0]?.png ?? "", "base64").subarray(0, 8)).toEqual(PNG);
    await context.close();
  });

  test("has the output of child processes, in order", async () => {
    const context = await sandbox.createCodeContext();
    const { stdout } = await context.runCode("import subprocess\nprint('a')\nsubprocess.run(['echo', 'b'])\nprint('c')");
    expect(stdout).toBe("a\nb\nc\n");
    await context.close();
  });

  test("can install a package and import it", async () => {
    const context = await sandbox.createCodeContext();
    const install = await context.runCode("!pip install tomli", { timeoutSeconds: 120 });
    expect(install.error).toBeUndefined();
    const { text, error } = await context.runCode("import tomli\ntomli.loads('a = 1')");
    expect(error).toBeUndefined();
    expect(text).toBe("{'a': 1}");
    await context.close();
  });

  test("may await at top level", async () => {
    const context = await sandbox.createCodeContext();
    const { text } = await context.runCode("import asyncio\nawait asyncio.sleep(0.01, 'slept')");
    expect(text).toBe("'slept'");
    await context.close();
  });

  test("is told at once that nobody can answer input()", async () => {
    const context = await sandbox.createCodeContext();
    const { error } = await context.runCode("input('name? ')");
    expect(error).toMatch(/input/);
    expect((await context.runCode("1 + 1")).text).toBe("2");
    await context.close();
  });

  test("keeps any text whole", async () => {
    const context = await sandbox.createCodeContext();
    const { stdout, text } = await context.runCode("s = 'é😀漢'\nprint(s)\ns");
    expect(stdout).toBe("é😀漢\n");
    expect(text).toBe("'é😀漢'");
    await context.close();
  });

  test("streams its output while it runs", async () => {
    const context = await sandbox.createCodeContext();
    let seen = "";
    // The cell goes on only when its output has been seen.
    const code = "import os, time\nprint(1, flush=True)\nwhile not os.path.exists('/tmp/seen'):\n    time.sleep(0.01)\nprint(2)";
    const execution = await context.runCode(code, {
      onStdout: async (text) => {
        seen += text;
        if (text === "1\n") await sandbox.filesystem.write("/tmp/seen", "");
      },
    });
    expect(execution.stdout).toBe("1\n2\n");
    expect(seen).toBe("1\n2\n");
    await context.close();
  });
});

describe("a cell that runs too long", () => {
  test("is interrupted and keeps the state", async () => {
    const context = await sandbox.createCodeContext();
    await context.runCode("kept = 7");
    const failure = await context
      .runCode("print('before')\nimport time\ntime.sleep(300)", { timeoutSeconds: 1 })
      .catch((error) => error);
    expect(failure).toMatchObject({ name: "SandboxTimeout", code: "sandbox_timeout" });
    expect(failure.execution.stdout).toBe("before\n");
    expect((await context.runCode("kept")).text).toBe("7");
    await context.close();
  });

  test("fault 4.12: is interrupted when the caller's signal fires; the next cell runs", async () => {
    const context = await sandbox.createCodeContext();
    await context.runCode("kept = 8");
    const abort = new AbortController();
    const running = context.runCode("import time\ntime.sleep(300)", { signal: abort.signal });
    setTimeout(() => abort.abort(new Error("no longer needed")), 300);
    await expect(running).rejects.toThrow();
    expect((await context.runCode("kept")).text).toBe("8");
    await context.close();
  });
});

test("fault 4.15: fifty cells at once run one after another and each gets its own answer", async () => {
  const context = await sandbox.createCodeContext();
  await context.runCode("n = 0");
  const executions = await Promise.all(
    Array.from({ length: 50 }, (_, i) => context.runCode(`n += 1\nprint('cell', ${i})\n(n, ${i})`)),
  );
  executions.forEach((execution, i) => {
    expect(execution.stdout).toBe(`cell ${i}\n`);
    expect(execution.text).toBe(`(${i + 1}, ${i})`);
  });
  await context.close();
});
