// The official npm package 0.9.0, unmodified, against the engine over TCP.
import { Sandbox } from "pandastack-sdk-0.9.0";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort, TestEngine } from "../support/engine.js";

let engine: TestEngine;
let config: { apiUrl: string; apiKey: string };

beforeAll(async () => {
  const port = await freePort();
  engine = await TestEngine.start(["--listen", `127.0.0.1:${port}`]);
  const { stdout } = await engine.cli("token", "create", "--label", "official");
  const apiKey = /pds_[0-9a-f]{32}/.exec(stdout)?.[0] ?? "";
  config = { apiUrl: `http://127.0.0.1:${port}`, apiKey };
});
afterAll(async () => {
  await engine?.stop();
});

test("the universal pattern of its documentation", async () => {
  const sandbox = await Sandbox.create({ template: "code-interpreter", ttlSeconds: 3600 }, config);
  const context = await sandbox.createCodeContext();
  const runPython = async (code: string) => {
    const execution = await context.runCode(code);
    return execution.error ?? execution.text ?? execution.stdout;
  };
  await runPython("x = 41");
  expect(await runPython("x + 1")).toBe("42");
  expect(await runPython("1/0")).toMatch(/ZeroDivisionError: division by zero\s*$/);
  expect(await runPython("print('é😀')")).toBe("é😀\n");
  const chart = await context.runCode("import matplotlib.pyplot as plt; plt.plot([1, 2, 3]); plt.show()");
  expect(chart.png).toMatch(/^iVBOR/);
  const table = await context.runCode("import pandas as pd; pd.DataFrame({'a': [1]})");
  expect(table.results.find((result) => result.html)?.html).toContain("<table");
  await context.close();
  await sandbox.kill();
});

test("its default template, exec, execStream and files", async () => {
  const sandbox = await Sandbox.create({}, config);
  expect(await sandbox.exec("echo hi; exit 3")).toMatchObject({ stdout: "hi\n", exit_code: 3 });
  let streamed = "";
  expect(
    await sandbox.execStream("for i in 1 2 3; do echo $i; done; exit 7", {
      onStdout: (chunk: string) => {
        streamed += chunk;
      },
    }),
  ).toBe(7);
  expect(streamed).toBe("1\n2\n3\n");
  await sandbox.filesystem.write("/root/a.txt", "text");
  expect(await sandbox.filesystem.read("/root/a.txt")).toBe("text");
  expect((await sandbox.filesystem.list("/root")).map((entry) => entry.name)).toContain("a.txt");
  expect(await sandbox.filesystem.exists("/root/none")).toBe(false);
  await expect(sandbox.exec("sleep 30", { timeoutSeconds: 1 })).rejects.toMatchObject({ name: "SandboxTimeout" });
  expect((await Sandbox.list(config)).map(({ id }) => id)).toContain(sandbox.id);
  expect(await sandbox.lifecycle()).toMatchObject({ persistent: false });
  await sandbox.kill();
  await expect(Sandbox.get(sandbox.id, config)).rejects.toMatchObject({ name: "NotFoundError" });
});

test("a wrong key and a missing key are refused", async () => {
  await expect(Sandbox.list({ ...config, apiKey: `pds_${"0".repeat(32)}` })).rejects.toMatchObject({ name: "AuthError" });
  const answer = await fetch(`${config.apiUrl}/v1/sandboxes`);
  expect(answer.status).toBe(401);
});

test("a page that another site loads into a browser cannot reach it by name", async () => {
  const { request } = await import("node:http");
  const { port } = new URL(config.apiUrl);
  const status = await new Promise<number>((resolve, reject) => {
    request(
      {
        host: "127.0.0.1",
        port,
        path: "/v1/sandboxes",
        headers: { host: "evil.example", authorization: `Bearer ${config.apiKey}` },
      },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    )
      .on("error", reject)
      .end();
  });
  expect([403, 421]).toContain(status);
});
