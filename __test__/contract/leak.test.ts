// The short form of the leak run: docs/testing.md.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
// @ts-expect-error: a script for Node.js, without types
import { grown, KINDS, startServer, work } from "../soak/leak.mjs";

let server: { url: string; stop: () => void };
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

test.each(Object.keys(KINDS).filter((kind) => kind !== "workers"))(
  "%s leave nothing behind",
  async (kind) => {
    expect(grown(await work(server.url, kind, 600))).toEqual([]);
  },
  60_000,
);

test("fault 4.26: workers that are ended during a stream leave nothing behind", async () => {
  const { before, after } = await work(server.url, "workers", 25);
  // Twenty workers: a connection that each of them left would show.
  expect(after.fds - before.fds).toBeLessThan(10);
  expect(grown({ before, after })).toEqual([]);
}, 60_000);

test("fault 4.22: a stream of 200 MB takes no more memory than its kept head and tail and what waits", async () => {
  const flood = new URL("../soak/flood.mjs", import.meta.url).pathname;
  const { stdout } = await promisify(execFile)(process.execPath, [flood, server.url, "200000000", "65536"]);
  const { exitCode, bytes, beforeMb, peakMb } = JSON.parse(stdout);
  expect([exitCode, bytes]).toEqual([0, 200_015_872]);
  expect(peakMb - beforeMb).toBeLessThan(64);
}, 60_000);
