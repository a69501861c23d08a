import { describe, expect, test, vi } from "vitest";
import { makeRunCodeTool } from "../../../lib/agents/ai-tool.js";
import { endless, FakeWorld, failure } from "../fake-sandbox.js";
import { aiVersions, toolResults } from "../scripted-model.js";

const PNG = "iVBORw0KGgo=";

describe.each(aiVersions)("AI SDK $version", ({ version, ai, scripted }) => {
  const stopWhen = ai.stepCountIs(5);

  test("the traceback reaches the model, which goes on", async () => {
    const world = new FakeWorld({
      bad: async () => ({ error: "Traceback …\nNameError: pd" }),
      good: async () => ({ stdout: "42\n" }),
    });
    const { model, calls } = scripted([["bad"], ["good"], "It is 42"]);
    const run_code = makeRunCodeTool({}, world.create);
    const { text } = await ai.generateText({ model, tools: { run_code }, stopWhen, prompt: "go" });
    expect(text).toBe("It is 42");
    expect(toolResults(calls, 1)).toEqual([{ type: "text", value: "ERROR:\nTraceback …\nNameError: pd" }]);
    expect(toolResults(calls, 2)[1]).toEqual({ type: "text", value: "42" });
    await run_code.close();
    expect(world.sandboxes).toHaveLength(1);
    expect(world.sandboxes[0]).toMatchObject({ killed: 1 });
  });

  test("the model is told name, schema and description", async () => {
    const { model, calls } = scripted(["hello"]);
    const run_code = makeRunCodeTool({}, new FakeWorld().create);
    await ai.generateText({ model, tools: { run_code }, prompt: "go" });
    const [tool] = (calls[0] as unknown as { tools: Record<string, unknown>[] }).tools;
    expect(tool).toMatchObject({
      type: "function",
      name: "run_code",
      inputSchema: { required: ["code"], properties: { code: { type: "string" } } },
    });
    expect(tool?.description).toMatch(/python.*persist/s);
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
    const world = new FakeWorld({ a: cell, b: cell, c: cell });
    const { model, calls } = scripted([["a", "b", "c"], "done"]);
    const run_code = makeRunCodeTool({}, world.create);
    await ai.generateText({ model, tools: { run_code }, stopWhen, prompt: "go" });
    expect(world.started).toEqual(["a", "b", "c"]);
    expect(toolResults(calls, 1)).toEqual(Array(3).fill({ type: "text", value: "ok" }));
  });

  test("an abort stops the cell", async () => {
    let seen: AbortSignal | undefined;
    const world = new FakeWorld({
      a: (options, context) => {
        seen = options.signal;
        return endless(options, context);
      },
    });
    const { model } = scripted([["a"], "done"]);
    const run_code = makeRunCodeTool({}, world.create);
    const controller = new AbortController();
    const run = ai.generateText({ model, tools: { run_code }, stopWhen, prompt: "go", abortSignal: controller.signal });
    await vi.waitFor(() => expect(world.started).toEqual(["a"]));
    controller.abort();
    await run.catch(() => undefined);
    expect(seen?.aborted).toBe(true);
  });

  test("bad input never reaches the kernel", async () => {
    const world = new FakeWorld();
    const { model, calls } = scripted([[""], "done"]);
    const run_code = makeRunCodeTool({}, world.create);
    await ai.generateText({ model, tools: { run_code }, stopWhen, prompt: "go" });
    expect(JSON.stringify(toolResults(calls, 1))).toContain("code must not be empty");
    expect(world.creations).toHaveLength(0);
  });

  test("a failure that is not the code’s becomes a tool error", async () => {
    const world = new FakeWorld({
      a: async () => {
        throw failure("auth");
      },
    });
    const { model, calls } = scripted([["a"], "done"]);
    await ai.generateText({ model, tools: { run_code: makeRunCodeTool({}, world.create) }, stopWhen, prompt: "go" });
    expect(toolResults(calls, 1)).toMatchObject([{ type: "error-text", value: expect.stringContaining("failed: auth") }]);
  });

  test("output so far comes as preliminary results; the last one is whole", async () => {
    const world = new FakeWorld({
      a: async ({ onStdout }) => {
        await onStdout?.("first\n");
        await new Promise((resolve) => setTimeout(resolve, 400));
        await onStdout?.("second\n");
        return { stdout: "first\nsecond\n" };
      },
    });
    const { model } = scripted([["a"], "done"]);
    const result = ai.streamText({ model, tools: { run_code: makeRunCodeTool({}, world.create) }, stopWhen, prompt: "go" });
    const outputs: unknown[] = [];
    for await (const part of result.fullStream) {
      if (part.type === "tool-result") outputs.push([part.preliminary ?? false, (part.output as { text: string }).text]);
    }
    expect(outputs[0]).toEqual([true, "first\n"]);
    expect(outputs.at(-1)).toEqual([false, "first\nsecond"]);
  });

  test("an image goes to the model in the form of this version, and only on request", async () => {
    const cell = async () => ({ results: [{ data: { "image/png": PNG } }] });
    const results: unknown[] = [];
    for (const images of [false, true]) {
      const { model, calls } = scripted([["a"], "done"]);
      const run_code = makeRunCodeTool({ images }, new FakeWorld({ a: cell }).create);
      await ai.generateText({ model, tools: { run_code }, stopWhen, prompt: "go" });
      results.push(toolResults(calls, 1)[0]);
    }
    expect(results[0]).toEqual({ type: "text", value: "[chart] image/png produced" });
    const image =
      version === 6
        ? { type: "image-data", mediaType: "image/png", data: PNG }
        : { type: "file", mediaType: "image/png", data: { type: "data", data: PNG } };
    expect(results[1]).toMatchObject({ type: "content", value: [{ type: "text", text: "[chart] image/png produced" }, image] });
  });
});

test("whoever stops reading cancels the cell", async () => {
  let seen: AbortSignal | undefined;
  const world = new FakeWorld({
    a: async (options, context) => {
      seen = options.signal;
      await options.onStdout?.("tick");
      return endless(options, context);
    },
  });
  const { execute } = makeRunCodeTool({}, world.create);
  const outputs = execute?.({ code: "a" }, { toolCallId: "1", messages: [] }) as AsyncIterable<{ text: string }>;
  for await (const { text } of outputs) {
    expect(text).toBe("tick");
    break;
  }
  expect(seen?.aborted).toBe(true);
});
