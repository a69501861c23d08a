import { describe, expect, test, vi } from "vitest";
import { ALL_LOST, CodeSession, VARIABLES_LOST } from "../../../lib/agents/code-session.js";
import type { CodeContext } from "../../../lib/code-context.js";
import type { Sandbox } from "../../../lib/sandbox.js";
import { deferred, endless, type FakeContext, type FakeSandbox, FakeWorld, failure } from "../fake-sandbox.js";

interface Borrowed {
  sandbox?: FakeSandbox;
  context?: FakeContext;
  idleSeconds?: number;
}

function sessionIn(world: FakeWorld, { sandbox, context, idleSeconds }: Borrowed = {}) {
  return new CodeSession({
    name: "run_code",
    language: "python",
    createSandbox: (signal) => world.create({ signal }, undefined),
    sandbox: sandbox as unknown as Sandbox | undefined,
    context: context as unknown as CodeContext | undefined,
    idleSeconds,
  });
}

const say = (stdout: string) => async () => ({ stdout });

describe("creation", () => {
  test("nothing is made before the first call", async () => {
    const world = new FakeWorld({ a: say("1") });
    const session = sessionIn(world);
    expect(world.creations).toHaveLength(0);
    await session.run("a");
    expect(world.creations).toHaveLength(1);
  });

  test("concurrent calls share one sandbox and one kernel", async () => {
    const world = new FakeWorld({ a: say("1") });
    const session = sessionIn(world);
    await Promise.all([session.run("a"), session.run("a"), session.sandbox(), session.context()]);
    expect(world.sandboxes).toHaveLength(1);
    expect(world.sandboxes[0]?.contexts).toHaveLength(1);
  });

  test("a failed creation is not remembered", async () => {
    const world = new FakeWorld({ a: say("1") });
    const session = sessionIn(world);
    world.nextCreationError = failure("capacity", { statusCode: 503 });
    await expect(session.run("a")).rejects.toMatchObject({ code: "capacity" });
    expect((await session.run("a")).stdout).toBe("1");
    expect(world.creations).toHaveLength(2);
  });

  test("a creation refused with 404 is not tried again and claims no loss", async () => {
    const world = new FakeWorld({ a: say("1") });
    const session = sessionIn(world);
    world.nextCreationError = failure("not_found", { statusCode: 404 });
    await expect(session.run("a")).rejects.toMatchObject({ code: "not_found" });
    expect(world.creations).toHaveLength(1);
    expect(session.takeNotice()).toBeUndefined();
  });

  test("an abort during creation leaves the creation to the other calls", async () => {
    const gate = deferred();
    const world = new FakeWorld({ a: say("1"), b: say("2") });
    world.creationGate = gate.promise;
    const session = sessionIn(world);
    const controller = new AbortController();
    const first = session.run("a", { signal: controller.signal });
    const second = session.run("b");
    await Promise.resolve();
    controller.abort(new Error("enough"));
    await expect(first).rejects.toThrow("enough");
    gate.resolve();
    expect((await second).stdout).toBe("2");
    expect(world.sandboxes).toHaveLength(1);
    expect(world.started).toEqual(["b"]);
  });
});

describe("queue", () => {
  test("calls run one at a time, in order", async () => {
    const gate = deferred();
    const world = new FakeWorld({ a: () => gate.promise.then(() => ({ stdout: "a" })), b: say("b"), c: say("c") });
    const session = sessionIn(world);
    const runs = [session.run("a"), session.run("b"), session.run("c")];
    await vi.waitFor(() => expect(world.started).toEqual(["a"]));
    gate.resolve();
    expect((await Promise.all(runs)).map(({ stdout }) => stdout)).toEqual(["a", "b", "c"]);
    expect(world.started).toEqual(["a", "b", "c"]);
  });

  test("an abort while queued removes the call and leaves the running cell alone", async () => {
    const gate = deferred();
    const world = new FakeWorld({ a: () => gate.promise.then(() => ({ stdout: "a" })), b: say("b"), c: say("c") });
    const session = sessionIn(world);
    const controller = new AbortController();
    const running = session.run("a");
    const queued = session.run("b", { signal: controller.signal });
    const last = session.run("c");
    controller.abort(new Error("not needed"));
    await expect(queued).rejects.toThrow("not needed");
    gate.resolve();
    expect((await running).stdout).toBe("a");
    expect((await last).stdout).toBe("c");
    expect(world.started).toEqual(["a", "c"]);
  });

  test("a signal that is aborted already starts nothing", async () => {
    const world = new FakeWorld({ a: say("1") });
    const session = sessionIn(world);
    await expect(session.run("a", { signal: AbortSignal.abort(new Error("too late")) })).rejects.toThrow("too late");
    expect(world.creations).toHaveLength(0);
  });

  test("an abort reaches the running cell, and the next call runs", async () => {
    const world = new FakeWorld({ a: endless, b: say("b") });
    const session = sessionIn(world);
    const controller = new AbortController();
    const running = session.run("a", { signal: controller.signal });
    const next = session.run("b");
    await vi.waitFor(() => expect(world.started).toEqual(["a"]));
    controller.abort();
    await expect(running).rejects.toMatchObject({ code: "aborted" });
    expect((await next).stdout).toBe("b");
  });
});

describe("replacement", () => {
  test("a sandbox that is gone is replaced, and the loss is told once", async () => {
    const world = new FakeWorld({ a: say("1") });
    const session = sessionIn(world);
    await session.run("a");
    world.gone.add(world.sandboxes[0] as FakeSandbox);
    expect((await session.run("a")).stdout).toBe("1");
    expect(world.sandboxes).toHaveLength(2);
    expect(session.takeNotice()).toBe(ALL_LOST);
    expect(session.takeNotice()).toBeUndefined();
  });

  test("a kernel that is gone is replaced in the same sandbox", async () => {
    const world = new FakeWorld({ a: say("1") });
    const session = sessionIn(world);
    await session.run("a");
    world.gone.add(world.sandboxes[0]?.contexts[0] as FakeContext);
    await session.run("a");
    expect(world.sandboxes).toHaveLength(1);
    expect(world.sandboxes[0]?.contexts).toHaveLength(2);
    expect(session.takeNotice()).toBe(VARIABLES_LOST);
  });

  test("it is replaced once per call", async () => {
    const world: FakeWorld = new FakeWorld({
      a: async (_, context) => {
        world.gone.add(context.sandbox);
        throw failure("not_found", { statusCode: 404 });
      },
    });
    const session = sessionIn(world);
    await expect(session.run("a")).rejects.toMatchObject({ code: "not_found" });
    expect(world.sandboxes).toHaveLength(2);
  });

  test("a cell during which the sandbox ended is not run again", async () => {
    const world: FakeWorld = new FakeWorld({
      a: async (_, context) => {
        world.gone.add(context.sandbox);
        throw failure("sandbox_gone");
      },
      b: say("2"),
    });
    const session = sessionIn(world);
    await expect(session.run("a")).rejects.toMatchObject({ code: "sandbox_gone" });
    expect(world.started).toEqual(["a"]);
    expect((await session.run("b")).stdout).toBe("2");
    expect(session.takeNotice()).toBe(ALL_LOST);
  });

  test("a sandbox of the caller is not replaced", async () => {
    const world = new FakeWorld({ a: say("1") });
    const sandbox = await world.make();
    const session = sessionIn(world, { sandbox });
    await session.run("a");
    world.gone.add(sandbox);
    await expect(session.run("a")).rejects.toMatchObject({ code: "not_found" });
    expect(world.sandboxes).toHaveLength(1);
  });

  test.each([{ restarted: true }, { executionCount: 1 }])("a kernel that started anew is told: %o", async (parts) => {
    const world = new FakeWorld({ a: say("1"), b: async () => parts });
    const session = sessionIn(world);
    await session.run("a");
    await session.run("b");
    expect(session.takeNotice()).toBe(VARIABLES_LOST);
  });

  test("an ordinary second cell claims no loss", async () => {
    const world = new FakeWorld({ a: say("1") });
    const session = sessionIn(world);
    await session.run("a");
    await session.run("a");
    expect(session.takeNotice()).toBeUndefined();
  });
});

describe("close", () => {
  test("closes the kernel and kills the sandbox, once", async () => {
    const world = new FakeWorld({ a: say("1") });
    const session = sessionIn(world);
    await session.run("a");
    await Promise.all([session.close(), session.close()]);
    await session.close();
    expect(world.sandboxes[0]).toMatchObject({ killed: 1 });
    expect(world.sandboxes[0]?.contexts[0]).toMatchObject({ closed: 1 });
  });

  test("cancels the running cell and the waiting ones", async () => {
    const world = new FakeWorld({ a: endless, b: say("b") });
    const session = sessionIn(world);
    const running = expect(session.run("a")).rejects.toMatchObject({ code: "closed" });
    const queued = expect(session.run("b")).rejects.toMatchObject({ code: "closed" });
    await vi.waitFor(() => expect(world.started).toEqual(["a"]));
    await session.close();
    await running;
    await queued;
    expect(world.sandboxes[0]).toMatchObject({ killed: 1 });
  });

  test("a creation in flight leaves no sandbox", async () => {
    const gate = deferred();
    const world = new FakeWorld({ a: say("1") });
    world.creationGate = gate.promise;
    const session = sessionIn(world);
    const run = expect(session.run("a")).rejects.toMatchObject({ code: "closed" });
    await Promise.resolve();
    const closing = session.close();
    gate.resolve();
    await closing;
    await run;
    expect(world.sandboxes).toHaveLength(0);
  });

  test("a sandbox that was made in spite of the abort is killed", async () => {
    const gate = deferred();
    const world = new FakeWorld({});
    const session = new CodeSession({
      name: "run_code",
      language: "python",
      createSandbox: () => gate.promise.then(() => world.create({}, undefined)),
    });
    session.sandbox().catch(() => undefined);
    const closing = session.close();
    gate.resolve();
    await closing;
    expect(world.sandboxes[0]).toMatchObject({ killed: 1 });
  });

  test("what was borrowed is left alone; a kernel of ours in a borrowed sandbox is closed", async () => {
    const world = new FakeWorld({ a: say("1") });
    const sandbox = await world.make();
    const context = await sandbox.createCodeContext();
    const [inSandbox, inContext] = [sessionIn(world, { sandbox }), sessionIn(world, { context })];
    await inSandbox.run("a");
    await inContext.run("a");
    await inSandbox.close();
    await inContext.close();
    expect(sandbox.killed).toBe(0);
    expect(context.closed).toBe(0);
    expect(sandbox.contexts[1]).toMatchObject({ closed: 1 });
  });

  test("a sandbox that is gone already is no failure, any other refusal is", async () => {
    const world = new FakeWorld({ a: say("1") });
    const [gone, refused] = [sessionIn(world), sessionIn(world)];
    await gone.run("a");
    await refused.run("a");
    world.gone.add(world.sandboxes[0] as FakeSandbox);
    (world.sandboxes[1] as FakeSandbox).kill = async () => {
      throw failure("network");
    };
    await gone.close();
    await expect(refused.close()).rejects.toMatchObject({ code: "network" });
  });

  test("use afterwards says what to do", async () => {
    const session = sessionIn(new FakeWorld());
    await session.close();
    const error = {
      name: "ClosedError",
      code: "closed",
      message: "the tool is closed: `run_code`; make a new one with runCodeTool()",
    };
    await expect(session.run("a")).rejects.toMatchObject(error);
    await expect(session.sandbox()).rejects.toMatchObject(error);
    await expect(session.context()).rejects.toMatchObject(error);
  });
});

test("an idle session gives its sandbox back and starts anew at the next call", async () => {
  const world = new FakeWorld({ a: say("1") });
  const session = sessionIn(world, { idleSeconds: 0.02 });
  await session.run("a");
  await vi.waitFor(() => expect(world.sandboxes[0]).toMatchObject({ killed: 1 }));
  await session.run("a");
  expect(world.sandboxes).toHaveLength(2);
  expect(session.takeNotice()).toBe(ALL_LOST);
  await session.close();
});
