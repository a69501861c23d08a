// Random operations while the engine, its sandboxes and its commands are killed and the disk is full. `scripts/soak.sh` runs it longer.
import { Client } from "@pandastack/sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { leftovers, violations } from "../support/chaos/invariants.js";
import { ChaosRun } from "../support/chaos/run.js";
import { TestEngine } from "../support/engine.js";

const number = (name: string, otherwise: number) => Number(process.env[`PANDASTACK_TEST_CHAOS_${name}`] || otherwise);
const seed = number("SEED", Date.now() % 1_000_000);
const operations = number("OPERATIONS", 60);
const kills = number("KILLS", 8);

/** A home on a disk of its own can be filled without harm; making one needs root. */
const diskMb = process.getuid?.() === 0 ? 2500 : undefined;

let engine: TestEngine;

beforeAll(async () => {
  engine = await TestEngine.start(["--least-free-disk-mb", "1", "--pack-after-seconds", "2"], { diskMb });
});
afterAll(async () => {
  await engine?.stop();
});

test(`nothing is lost in ${operations} operations with ${kills} kills`, { timeout: 120_000 + operations * 3000 }, async () => {
  console.log(`seed of the chaos run: ${seed}; again with PANDASTACK_TEST_CHAOS_SEED=${seed}`);
  const client = new Client({ apiUrl: engine.apiUrl, maxCreateRetrySeconds: 0, timeoutMs: 120_000 });
  const run = new ChaosRun(engine, client, { seed, operations, kills, fillDisk: diskMb !== undefined });
  await run.run();
  console.log(JSON.stringify({ ...run.tally, kills: run.killer.kills }));
  expect(run.unexplained).toEqual([]);
  expect(await violations(engine, client, run.model)).toEqual([]);

  await engine.kill("SIGKILL");
  await engine.serve();
  expect(await violations(engine, client, run.model)).toEqual([]);

  for (const { id } of await client.snapshots.list()) await client.snapshots.delete(id);
  for (const { id } of await client.sandboxes.list()) await client.sandboxes.get(id).then((sandbox) => sandbox.kill());
  await engine.cli("engine", "stop");
  expect(await leftovers(engine.home)).toEqual([]);
});
