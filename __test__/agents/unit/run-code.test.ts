import { describe, expect, test, vi } from "vitest";
import { RunCode } from "../../../lib/agents/run-code.js";
import type { RunCodeToolOptions } from "../../../lib/agents/run-code-options.js";
import { runCodeSchema } from "../../../lib/agents/run-code-schema.js";
import { endless, execution, type FakeSandbox, FakeWorld, failure } from "../fake-sandbox.js";

const PNG = "iVBORw0KGgo=";

function runCodeIn(world: FakeWorld, options: RunCodeToolOptions = {}) {
  return new RunCode(options, world.create);
}

describe("outputs", () => {
  test("a traceback is a normal output", async () => {
    const world = new FakeWorld({ a: async () => ({ error: "Traceback …\nNameError: pd", exitCode: 1 }) });
    const output = await runCodeIn(world).run({ code: "a" });
    expect(output).toMatchObject({ status: "error", text: "ERROR:\nTraceback …\nNameError: pd", executionCount: 1 });
  });

  test.each([
    ["sandbox_timeout", "timed_out", "still running after 7 s"],
    ["interrupted", "interrupted", "connection to the sandbox was cut"],
    ["sandbox_gone", "sandbox_gone", "the code was not run again"],
  ])("%s is told with the output so far", async (code, status, words) => {
    const world = new FakeWorld({
      a: async () => {
        throw failure(code, { execution: execution({ stdout: "halfway\n" }) });
      },
    });
    const output = await runCodeIn(world, { timeoutSeconds: 7 }).run({ code: "a" });
    expect(output.status).toBe(status);
    expect(output.text).toMatch(/^(\[kernel restarted\].*\n\n)?ERROR:/);
    expect(output.text).toContain(words);
    expect(output.text).toContain("halfway");
  });

  test("that variables are kept is said only where it is known", async () => {
    const texts: string[] = [];
    for (const parts of [{}, { executionCount: 3 }, { executionCount: 3, restarted: true }]) {
      const world = new FakeWorld({
        a: async () => {
          throw failure("sandbox_timeout", { execution: execution(parts) });
        },
      });
      texts.push((await runCodeIn(world).run({ code: "a" })).text);
    }
    expect(texts.map((text) => text.includes("variables are kept"))).toEqual([false, true, false]);
    expect(texts[2]).toMatch(/^\[kernel restarted\] all variables are lost; files are kept\n/);
  });

  test("a time limit of the creation is thrown: no code was running", async () => {
    const world = new FakeWorld();
    world.nextCreationError = failure("timeout");
    await expect(runCodeIn(world).run({ code: "a" })).rejects.toMatchObject({ code: "timeout" });
  });

  test.each(["auth", "network", "capacity", "aborted", "engine"])("%s is thrown", async (code) => {
    const world = new FakeWorld({
      a: async () => {
        throw failure(code);
      },
    });
    await expect(runCodeIn(world).run({ code: "a" })).rejects.toMatchObject({ code });
  });

  test("a lost sandbox is told in front of the output", async () => {
    const world = new FakeWorld({ a: async () => ({ stdout: "hello" }) });
    const runCode = runCodeIn(world);
    await runCode.run({ code: "a" });
    world.gone.add(world.sandboxes[0] as FakeSandbox);
    const { text } = await runCode.run({ code: "a" });
    expect(text).toBe("[kernel restarted] all variables and files are lost\n\nhello");
    expect((await runCode.run({ code: "a" })).text).toBe("hello");
  });

  test("images are off by default, on request there are at most four", async () => {
    const results = Array.from({ length: 6 }, () => ({ data: { "image/png": `${PNG}\n` } }));
    const world = new FakeWorld({ a: async () => ({ results }) });
    expect(JSON.stringify(await runCodeIn(world).run({ code: "a" }))).not.toContain(PNG);
    const { images } = await runCodeIn(world, { images: true }).run({ code: "a" });
    expect(images).toEqual(Array(4).fill({ mediaType: "image/png", data: PNG }));
  });

  test("the text keeps to maxOutputChars", async () => {
    const world = new FakeWorld({ a: async () => ({ stdout: "x".repeat(99_999) }) });
    const { text } = await runCodeIn(world, { maxOutputChars: 500 }).run({ code: "a" });
    expect(text.length).toBeLessThanOrEqual(500);
    expect(text).toContain("characters left out");
  });

  test("a text of your own", async () => {
    const world = new FakeWorld({ a: async () => ({ stdout: "abc" }) });
    const output = await runCodeIn(world, { format: ({ stdout }) => `<${stdout}>` }).run({ code: "a" });
    expect(output.text).toBe("<abc>");
  });
});

describe("input", () => {
  test.each([undefined, null, {}, { code: 1 }, { code: "" }, { code: " \n" }, "x=1"])(
    "%j is refused and makes nothing",
    async (input) => {
      const world = new FakeWorld();
      await expect(runCodeIn(world).run(input)).rejects.toThrow(/^run_code: code must/);
      expect(runCodeSchema("python")["~standard"].validate(input)).toMatchObject({ issues: [{ path: ["code"] }] });
      expect(world.creations).toHaveLength(0);
    },
  );

  test("the JSON Schema is a new object each time", () => {
    const { jsonSchema } = runCodeSchema("python")["~standard"];
    const first = jsonSchema.input({ target: "draft-07" });
    expect(first).toMatchObject({ required: ["code"], additionalProperties: false });
    expect(jsonSchema.input({ target: "draft-07" })).not.toBe(first);
  });

  test.each([
    [{ timeoutSeconds: -1 }, "timeoutSeconds"],
    [{ timeoutSeconds: Number.NaN }, "timeoutSeconds"],
    [{ maxOutputChars: 1.5 }, "maxOutputChars"],
    [{ idleSeconds: 0 }, "idleSeconds"],
    [{ images: "yes" }, "images"],
    [{ name: "run code!" }, "name"],
    [{ timeout: 5 }, "timeout"],
    [{ sandbox: {} }, "sandbox"],
    [{ sessionKey: "user-1" }, "sessionKey"],
  ])("the option %j is refused by name", (options, name) => {
    expect(() => runCodeIn(new FakeWorld(), options as RunCodeToolOptions)).toThrow(name);
  });
});

describe("callbacks", () => {
  test("output as it comes, then the execution, each with its call", async () => {
    const world = new FakeWorld({
      a: async ({ onStdout, onStderr }) => {
        await onStdout?.("one");
        await onStderr?.("two");
        return { stdout: "one", stderr: "two", results: [{ data: { "image/png": PNG } }] };
      },
    });
    const heard: unknown[] = [];
    const runCode = runCodeIn(world, {
      onStdout: (text, { toolCallId }) => void heard.push(["stdout", text, toolCallId]),
      onStderr: (text, { toolCallId }) => void heard.push(["stderr", text, toolCallId]),
      onExecution: ({ results }, { toolCallId }) => void heard.push([results[0]?.data["image/png"], toolCallId]),
    });
    await runCode.run({ code: "a" }, { toolCallId: "call-1" });
    expect(heard).toEqual([
      ["stdout", "one", "call-1"],
      ["stderr", "two", "call-1"],
      [PNG, "call-1"],
    ]);
  });

  test("a callback that throws fails the call", async () => {
    const world = new FakeWorld({ a: async () => ({ stdout: "one" }) });
    const onExecution = () => Promise.reject(new Error("disk full"));
    await expect(runCodeIn(world, { onExecution }).run({ code: "a" })).rejects.toThrow("disk full");
  });

  test("limits reach the cell", async () => {
    const seen = vi.fn(async () => ({}));
    await runCodeIn(new FakeWorld({ a: seen }), { maxOutputChars: 1_000_000 }).run({ code: "a" });
    expect(seen.mock.calls[0]?.at(0)).toMatchObject({ timeoutSeconds: 120, maxOutputBytes: 4_000_000 });
  });
});

describe("sessions", () => {
  test("each key has its own sandbox; calls of different keys run in parallel", async () => {
    const world = new FakeWorld({ a: endless, b: async () => ({ stdout: "b" }) });
    const runCode = runCodeIn(world, { sessionKey: (context) => context?.user });
    const stuck = expect(runCode.run({ code: "a" }, { frameworkContext: { user: "ann" } })).rejects.toMatchObject({
      code: "closed",
    });
    expect((await runCode.run({ code: "b" }, { frameworkContext: { user: "bob" } })).text).toBe("b");
    await runCode.run({ code: "b" }, { frameworkContext: {} });
    expect(world.sandboxes).toHaveLength(3);
    await runCode.close();
    await stuck;
    expect(world.sandboxes.map(({ killed }) => killed)).toEqual([1, 1, 1]);
  });

  test("a sandbox is asked for with defaults, which `create` overrides", async () => {
    const world = new FakeWorld({ a: async () => ({}) });
    await runCodeIn(world).run({ code: "a" });
    await runCodeIn(world, { name: "py", create: { ttlSeconds: 60 } }).run({ code: "a" });
    expect(world.creations).toEqual([
      { template: "code-interpreter", ttlSeconds: 3600, metadata: { tool: "run_code" } },
      { template: "code-interpreter", ttlSeconds: 60, metadata: { tool: "py" } },
    ]);
  });

  test("use after close is refused", async () => {
    const runCode = runCodeIn(new FakeWorld());
    await runCode.close();
    await runCode.close();
    await expect(runCode.run({ code: "a" })).rejects.toMatchObject({ code: "closed" });
    expect(() => runCode.sessionFor("x")).toThrow("closed");
  });

  test("one session that cannot be closed does not keep the others open", async () => {
    const world = new FakeWorld({ a: async () => ({}) });
    const runCode = runCodeIn(world, { sessionKey: (key) => key });
    await runCode.run({ code: "a" }, { frameworkContext: "x" });
    await runCode.run({ code: "a" }, { frameworkContext: "y" });
    (world.sandboxes[0] as FakeSandbox).kill = () => Promise.reject(failure("network"));
    await expect(runCode.close()).rejects.toMatchObject({ code: "network" });
    expect(world.sandboxes[1]).toMatchObject({ killed: 1 });
  });
});
