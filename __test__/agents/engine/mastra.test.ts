import { Agent } from "@mastra/core/agent";
import { NotFoundError, Sandbox } from "@pandastack/sdk";
import { runCodeTool } from "@pandastack/sdk/mastra";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestEngine } from "../../support/engine.js";
import { mastraModel, type Turn, toolResults } from "../scripted-model.js";

let engine: TestEngine;

beforeAll(async () => {
  engine = await TestEngine.start();
});
afterAll(async () => {
  await engine?.stop();
});

const textOf = (result: unknown) => (result as { value: string }).value;

function analyst(turns: readonly Turn[]) {
  const run_code = runCodeTool({ client: { apiUrl: engine.apiUrl } });
  const { model, calls } = mastraModel(turns);
  const agent = new Agent({ id: "analyst", name: "analyst", instructions: "Compute", model, tools: { run_code } });
  return { agent, calls, run_code };
}

test("a traceback in the first turn, its variables in the second, nothing left after close", async () => {
  const { agent, calls, run_code } = analyst([['x = 41\nraise ValueError("no luck")'], ["x + 1"], "It is 42"]);
  expect((await agent.generate("go")).text).toBe("It is 42");
  expect(textOf(toolResults(calls, 1)[0])).toMatch(/^ERROR:\n[\s\S]*ValueError: no luck$/);
  expect(textOf(toolResults(calls, 2)[1])).toBe("[result] 42");
  const { id } = await run_code.session.sandbox();
  await run_code.close();
  await expect(Sandbox.get(id, { apiUrl: engine.apiUrl })).rejects.toBeInstanceOf(NotFoundError);
});

test("two parallel calls queue", async () => {
  const { agent, calls, run_code } = analyst([
    ["import time\ntime.sleep(0.3)\nseen = [1]", 'seen = globals().get("seen", []) + [2]\nseen'],
    "done",
  ]);
  await agent.generate("go");
  expect(textOf(toolResults(calls, 1)[1])).toBe("[result] [1, 2]");
  await run_code.close();
});

test("an abort stops the cell and keeps the variables", async () => {
  const { agent, run_code } = analyst([['import time\nprint("started", flush=True)\nwhile True: time.sleep(0.05)'], "done"]);
  await run_code.session.run("x = 7");
  const controller = new AbortController();
  const { fullStream } = await agent.stream("go", { abortSignal: controller.signal });
  for await (const chunk of fullStream) if (chunk.type === "data-stdout") controller.abort();
  expect((await run_code.session.run("x", { timeoutSeconds: 20 })).text).toBe("7");
  await run_code.close();
});
