import { NotFoundError, Sandbox } from "@pandastack/sdk";
import { runCodeTool } from "@pandastack/sdk/ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestEngine } from "../../support/engine.js";
import { aiVersions, toolResults, version6 } from "../scripted-model.js";

let engine: TestEngine;

beforeAll(async () => {
  engine = await TestEngine.start();
});
afterAll(async () => {
  await engine?.stop();
});

const textOf = (result: unknown) => (result as { value: string }).value;

describe.each(aiVersions)("AI SDK $version", ({ ai, scripted }) => {
  const stopWhen = ai.stepCountIs(5);

  test("a traceback in the first turn, its variables in the second, nothing left after close", async () => {
    const client = { apiUrl: engine.apiUrl };
    const run_code = runCodeTool({ client });
    const { model, calls } = scripted([['x = 41\nraise ValueError("no luck")'], ["x + 1"], "It is 42"]);
    const { text } = await ai.generateText({ model, tools: { run_code }, stopWhen, prompt: "go" });
    expect(text).toBe("It is 42");
    expect(textOf(toolResults(calls, 1)[0])).toMatch(/^ERROR:\n[\s\S]*ValueError: no luck$/);
    expect(textOf(toolResults(calls, 2)[1])).toBe("[result] 42");
    const { id } = await run_code.session.sandbox();
    expect((await Sandbox.get(id, client)).status).toBe("running");
    await run_code.close();
    await expect(Sandbox.get(id, client)).rejects.toBeInstanceOf(NotFoundError);
  });

  test("two parallel calls queue", async () => {
    const run_code = runCodeTool({ client: { apiUrl: engine.apiUrl } });
    const { model, calls } = scripted([
      ['import time\ntime.sleep(0.3)\nseen = ["first"]', 'seen.append("second")\nseen'],
      "done",
    ]);
    await ai.generateText({ model, tools: { run_code }, stopWhen, prompt: "go" });
    expect(toolResults(calls, 1).map(textOf)).toEqual(["(no output)", "[result] ['first', 'second']"]);
    await run_code.close();
  });

  test("an abort stops the cell and keeps the variables", async () => {
    const run_code = runCodeTool({ client: { apiUrl: engine.apiUrl } });
    await run_code.session.run("x = 7");
    const controller = new AbortController();
    const { model } = scripted([['import time\nprint("started", flush=True)\nwhile True: time.sleep(0.05)'], "done"]);
    const result = ai.streamText({
      model,
      tools: { run_code },
      stopWhen,
      prompt: "go",
      abortSignal: controller.signal,
      onError: () => undefined,
    });
    for await (const part of result.fullStream) if (part.type === "tool-result" && part.preliminary) controller.abort();
    expect((await run_code.session.run("x", { timeoutSeconds: 20 })).text).toBe("7");
    await run_code.close();
  });
});

test("a chart and a table are markers for the model and objects for the host", async () => {
  const executions: { png?: string; results: { html?: string }[] }[] = [];
  const run_code = runCodeTool({
    client: { apiUrl: engine.apiUrl },
    onExecution: (execution) => void executions.push(execution),
  });
  const { model, calls } = version6.scripted([
    ['import pandas as pd\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\npd.DataFrame({"a": [1]})'],
    "done",
  ]);
  await version6.ai.generateText({ model, tools: { run_code }, stopWhen: version6.ai.stepCountIs(3), prompt: "go" });
  const text = textOf(toolResults(calls, 1)[0]);
  expect(text).toContain("[chart] image/png produced");
  expect(text).toContain("[table] HTML of");
  expect(text.length).toBeLessThan(500);
  expect(
    Buffer.from(executions[0]?.png ?? "", "base64")
      .subarray(1, 4)
      .toString(),
  ).toBe("PNG");
  await run_code.close();
});

test("a time limit is told with the output so far", async () => {
  const run_code = runCodeTool({ client: { apiUrl: engine.apiUrl }, timeoutSeconds: 1 });
  const { model, calls } = version6.scripted([['import time\ny = 5\nprint("halfway")\ntime.sleep(60)'], ["y"], "done"]);
  await version6.ai.generateText({ model, tools: { run_code }, stopWhen: version6.ai.stepCountIs(4), prompt: "go" });
  const [limit, after] = toolResults(calls, 2).map(textOf);
  expect(limit).toMatch(/^ERROR:[\s\S]*still running after 1 s[\s\S]*halfway/);
  expect(after).toBe("[result] 5");
  await run_code.close();
});

test("a sandbox that was killed behind its back is replaced, and the model is told", async () => {
  const client = { apiUrl: engine.apiUrl };
  const run_code = runCodeTool({ client });
  const sandbox = await run_code.session.sandbox();
  await run_code.session.run("x = 1");
  await (await Sandbox.get(sandbox.id, client)).kill();
  const { model, calls } = version6.scripted([['"x" in globals()'], "done"]);
  await version6.ai.generateText({ model, tools: { run_code }, stopWhen: version6.ai.stepCountIs(3), prompt: "go" });
  expect(textOf(toolResults(calls, 1)[0])).toBe("[kernel restarted] all variables and files are lost\n\n[result] False");
  await run_code.close();
});
