// An engine whose disk is full. Its home lies on a disk of its own, which needs root.
import { execFileSync } from "node:child_process";
import { existsSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { Client, Sandbox } from "@pandastack/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestEngine } from "../support/engine.js";
import { names } from "../support/host.js";

const MB = 1 << 20;
const diskMb = 500;
let engine: TestEngine;
let client: Client;

const filler = () => join(engine.home, "filler");

function freeBytes(): number {
  const { bavail, bsize } = statfsSync(engine.home);
  return bavail * bsize;
}

/** Fills the disk but for `leftBytes`. */
function fill(leftBytes: number): void {
  execFileSync("fallocate", ["--length", String(freeBytes() - leftBytes), filler()]);
}

describe.runIf(process.getuid?.() === 0)("a full disk", () => {
  beforeAll(async () => {
    engine = await TestEngine.start(["--least-free-disk-mb", "1", "--pack-after-seconds", "0"], { diskMb });
    client = new Client({ apiUrl: engine.apiUrl, maxCreateRetrySeconds: 0 });
  });
  afterAll(async () => {
    await engine?.stop();
  });

  test("refuses what has no room, loses nothing, and a new engine finds everything", async () => {
    const [asleep, awake] = await Promise.all([Sandbox.create({}, client), Sandbox.create({}, client)]);
    const contexts = await Promise.all([asleep.createCodeContext(), awake.createCodeContext()]);
    for (const context of contexts) await context.runCode("x = 41");
    await asleep.hibernate();
    await expect.poll(() => names(engine.home, "hibernated", asleep.id), { timeout: 30_000 }).not.toContain("pages.img");

    // Until the last one who had the unpacked image open is gone.
    await expect.poll(freeBytes, { timeout: 30_000 }).toBeGreaterThan((diskMb - 10) * MB);

    // Enough to begin, too little to end.
    fill(20 * MB);
    const refusal = {
      name: "CapacityError",
      statusCode: 503,
      retryAfter: 30,
      message: expect.stringContaining("not enough disk space"),
    };
    await expect(asleep.wake()).rejects.toMatchObject(refusal);
    await expect(awake.snapshot()).rejects.toMatchObject(refusal);
    await expect(awake.hibernate()).rejects.toMatchObject(refusal);
    await expect(awake.fork()).rejects.toMatchObject(refusal);
    expect((await contexts[1]?.runCode("x + 1"))?.text).toBe("42");
    rmSync(filler());
    expect(names(engine.home, "snapshots")).toEqual([]);

    // Nothing at all, also for the engine itself.
    fill(0);
    await engine.kill("SIGKILL");
    await engine.serve();
    expect((await contexts[1]?.runCode("x + 2"))?.text).toBe("43");
    await awake.pause();
    await awake.resume();
    await awake.kill();
    await engine.kill("SIGKILL");
    await engine.serve();
    expect((await Sandbox.list(client)).map(({ id, status }) => [id, status])).toEqual([[asleep.id, "hibernated"]]);
    rmSync(filler());
    expect((await contexts[0]?.runCode("x + 3"))?.text).toBe("44");
    expect(existsSync(join(engine.home, "hibernated", asleep.id))).toBe(false);
  });
});
