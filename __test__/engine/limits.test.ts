import { Client, Sandbox } from "@pandastack/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestEngine } from "../support/engine.js";

let engine: TestEngine;
let client: Client;

beforeAll(async () => {
  engine = await TestEngine.start(["--most-sandboxes", "2", "--processes", "200", "--cell-seconds", "30"]);
  client = new Client({ apiUrl: engine.apiUrl, maxCreateRetrySeconds: 0 });
});
afterAll(async () => {
  await engine?.stop();
});

describe("limits", () => {
  test("of the engine hold where none are asked for, and a full engine is a CapacityError", async () => {
    const first = await Sandbox.create({}, client);
    expect(first.info.limits).toMatchObject({ processes: 200, cell_seconds: 30, disk_gb: 4 });
    expect((await first.exec("ulimit -u")).stdout).toBe("200\n");
    const second = await Sandbox.create({ limits: { memoryMb: 512, processes: 100 } }, client);
    expect(second.info.limits).toMatchObject({ memory_mb: 512, processes: 100, cell_seconds: 30 });
    await expect(Sandbox.create({}, client)).rejects.toMatchObject({ name: "CapacityError", statusCode: 503, retryAfter: 5 });

    const status = JSON.parse((await engine.cli("engine", "status", "--json")).stdout);
    expect(status).toMatchObject({ running: 2, most_sandboxes: 2, limits: { processes: 200 } });
    expect(status.sandboxes.map((sandbox: { id: string }) => sandbox.id).sort()).toEqual([first.id, second.id].sort());
    await first.kill();
    await second.kill();
  });

  test("are a MemoryError in the cell that wants too much, and the next one counts", async () => {
    const sandbox = await Sandbox.create({ limits: { memoryMb: 512 } }, client);
    const context = await sandbox.createCodeContext();
    await context.runCode("kept = 41");
    const { errorInfo } = await context.runCode("hoard = bytearray(4 << 30)");
    expect(errorInfo?.name).toBe("MemoryError");
    expect((await context.runCode("kept + 1")).text).toBe("42");
    await sandbox.kill();
  });

  test("that cannot be are refused by name", async () => {
    await expect(Sandbox.create({ limits: { processes: 5000 } }, client)).rejects.toMatchObject({
      name: "BadRequestError",
      message: "limits.processes must be between 16 and 4096: `5000`",
    });
  });
});
