// Snapshots and forks of sandboxes that are busy or large.
import { Client } from "@pandastack/sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestEngine } from "../support/engine.js";
import {
  forkWhilePrinting,
  generationsWithBackgroundProcess,
  generationsWithCommandInFlight,
  generationsWithHeap,
} from "../support/state-scenarios.js";

let engine: TestEngine;
let client: Client;

beforeAll(async () => {
  engine = await TestEngine.start();
  client = new Client({ apiUrl: engine.apiUrl, timeoutMs: 120_000 });
});
afterAll(async () => {
  await engine?.stop();
});

test("three generations keep 500 MB of memory and a file of 30 MB", () => generationsWithHeap(client, 500));

test("three generations keep a process in the background counting", () => generationsWithBackgroundProcess(client));

test("three generations are taken while a command of the parent prints", () => generationsWithCommandInFlight(client));

test("a fork tree while a cell and a command print: nothing is missing, children have everything and their own luck", async () => {
  const gaps = await forkWhilePrinting(client);
  console.log(`longest gap of the parent's cell ${gaps.cellGapMs} ms, of its command ${gaps.commandGapMs} ms`);
  expect(Math.max(gaps.cellGapMs, gaps.commandGapMs)).toBeLessThan(5000);
});
