import { Agent } from "@mastra/core/agent";
import { expect, test, vi } from "vitest";
import { makeRunCodeTool } from "../../../lib/agents/mastra-tool.js";
import { endless, FakeWorld, failure } from "../fake-sandbox.js";
import { mastraModel, type Turn, toolResults } from "../scripted-model.js";

const PNG = "iVBORw0KGgo=";

function agentWith(run_code: ReturnType<typeof makeRunCodeTool>, turns: readonly Turn[]) {
  const { model, calls } = mastraModel(turns);
  return { calls, agent: new Agent({ id: "analyst", name: "analyst", instructions: "Compute", model, tools: { run_code } }) };
}

test("the traceback reaches the model, which goes on", async () => {
  const world = new FakeWorld({
    bad: async () => ({ error: "Traceback …\nNameError: pd" }),
    good: async () => ({ stdout: "42\n" }),
  });
  const run_code = makeRunCodeTool({}, world.create);
  const { agent, calls } = agentWith(run_code, [["bad"], ["good"], "It is 42"]);
  const { text } = await agent.generate("go");
  expect(text).toBe("It is 42");
  expect(toolResults(calls, 1)).toEqual([{ type: "text", value: "ERROR:\nTraceback …\nNameError: pd" }]);
  expect(toolResults(calls, 2)[1]).toEqual({ type: "text", value: "42" });
  await run_code.close();
  expect(world.sandboxes[0]).toMatchObject({ killed: 1 });
});

test("parallel calls of one turn queue", async () => {
  let running = 0;
  const cell = async () => {
    running += 1;
    expect(running).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    running -= 1;
    return { stdout: "ok" };
  };
  const world = new FakeWorld({ a: cell, b: cell });
  const { agent, calls } = agentWith(makeRunCodeTool({}, world.create), [["a", "b"], "done"]);
  await agent.generate("go");
  expect(toolResults(calls, 1)).toEqual(Array(2).fill({ type: "text", value: "ok" }));
  expect(world.started.toSorted()).toEqual(["a", "b"]);
});

test("an abort stops the cell", async () => {
  let seen: AbortSignal | undefined;
  const world = new FakeWorld({
    a: (options, context) => {
      seen = options.signal;
      return endless(options, context);
    },
  });
  const { agent } = agentWith(makeRunCodeTool({}, world.create), [["a"], "done"]);
  const controller = new AbortController();
  const run = agent.generate("go", { abortSignal: controller.signal });
  await vi.waitFor(() => expect(world.started).toEqual(["a"]), { timeout: 5000 });
  controller.abort();
  await run.catch(() => undefined);
  expect(seen?.aborted).toBe(true);
});

test("bad input never reaches the kernel", async () => {
  const world = new FakeWorld();
  const { agent, calls } = agentWith(makeRunCodeTool({}, world.create), [[""], "done"]);
  await agent.generate("go");
  expect(JSON.stringify(toolResults(calls, 1))).toContain("code must not be empty");
  expect(world.creations).toHaveLength(0);
});

test("a failure that is not the code’s becomes a tool error", async () => {
  const world = new FakeWorld({
    a: async () => {
      throw failure("auth");
    },
  });
  const { agent, calls } = agentWith(makeRunCodeTool({}, world.create), [["a"], "done"]);
  await agent.generate("go");
  expect(JSON.stringify(toolResults(calls, 1))).toContain("failed: auth");
});

test("output comes as chunks of the stream while the cell runs", async () => {
  const world = new FakeWorld({
    a: async ({ onStdout, onStderr }) => {
      await onStdout?.("one");
      await onStderr?.("two");
      return { stdout: "one", stderr: "two" };
    },
  });
  const { agent } = agentWith(makeRunCodeTool({}, world.create), [["a"], "done"]);
  const chunks: unknown[] = [];
  for await (const chunk of (await agent.stream("go")).fullStream) {
    if (chunk.type.startsWith("data-")) chunks.push([chunk.type, (chunk as unknown as { data: { text: string } }).data.text]);
  }
  expect(chunks).toEqual([
    ["data-stdout", "one"],
    ["data-stderr", "two"],
  ]);
});

test("an image goes to the model only on request", async () => {
  const cell = async () => ({ results: [{ data: { "image/png": PNG } }] });
  const seen: string[] = [];
  for (const images of [false, true]) {
    const { agent, calls } = agentWith(makeRunCodeTool({ images }, new FakeWorld({ a: cell }).create), [["a"], "done"]);
    await agent.generate("go");
    seen.push(JSON.stringify(toolResults(calls, 1)));
  }
  expect(seen[0]).not.toContain(PNG);
  expect(seen[1]).toContain(PNG);
});
