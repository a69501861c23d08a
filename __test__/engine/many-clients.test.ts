// Many sandboxes made, used, forked, hibernated and woken by many clients at once. `scripts/soak.sh` does it with more and for longer.
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestEngine } from "../support/engine.js";
import { client, heldAtRest, type Tally } from "../support/many-clients.js";

const number = (name: string, otherwise: number) => Number(process.env[`PANDASTACK_TEST_MANY_${name}`] || otherwise);
const clients = number("CLIENTS", 6);
const sandboxes = number("SANDBOXES", 12);
const seconds = number("SECONDS", 8);

/** Most descriptors of the engine for one sandbox that it keeps ready. */
const FDS_OF_SANDBOX = 8;

let engine: TestEngine;

beforeAll(async () => {
  engine = await TestEngine.start();
});
afterAll(async () => {
  await engine?.stop();
});

async function together(count: number, share: number, ms: number): Promise<Tally> {
  const tally: Tally = { done: {}, refused: 0, wrong: [] };
  const deadline = performance.now() + ms;
  await Promise.all(Array.from({ length: count }, (_, seed) => client(engine, seed, share, deadline, tally)));
  return tally;
}

test(`${sandboxes} sandboxes, ${clients} clients, ${seconds} s: no error, and nothing is left`, {
  timeout: 400_000 + seconds * 5000,
}, async () => {
  // What is made once and kept is no leak; the longer run is compared with one that was as wide.
  const warmUp = seconds < 60 ? { clients: 2, share: 1 } : { clients, share: sandboxes / clients };
  expect((await together(warmUp.clients, warmUp.share, 0)).wrong).toEqual([]);
  const before = await heldAtRest(engine);
  const { done, refused, wrong } = await together(clients, sandboxes / clients, seconds * 1000);
  expect(wrong).toEqual([]);
  const after = await heldAtRest(engine);
  console.log(JSON.stringify({ done, refused, before, after }));
  expect(Object.keys(done).sort()).toEqual(["create", "fork", "hibernate", "remove", "use"]);
  const { rssMb, fds, threads, kept, ...ofSandboxes } = after;
  expect(ofSandboxes).toEqual({ processes: 0, controlGroups: 0, folders: 0 });
  expect(rssMb).toBeLessThan(before.rssMb + 64);
  expect(fds).toBeLessThan(before.fds + 32 + FDS_OF_SANDBOX * Math.max(0, kept - before.kept));
  expect(threads).toBeLessThan(before.threads + 64);
});
