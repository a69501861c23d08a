// Does one kind of work many times and prints what it cost: node --expose-gc work.mjs <address> <kind> <times>.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import * as sdk from "../../dist/index.mjs";
import { bytes, random, wholeAt } from "./script.mjs";

const [, , apiUrl, kind, times] = process.argv;
const client = new sdk.Client({ apiUrl, apiKey: "pds_test" });
const sandbox = sdk.Sandbox.fromInfo({ id: "sb", template: "t", cpu: 1, memory_mb: 512, status: "running" }, client);
const upload = Buffer.alloc(64 * 1024, "a");

/** Rejects unless `work` rejects with an error of class `name`. */
async function failing(work, name) {
  const error = await work.then(
    () => new Error("it did not fail"),
    (error) => error,
  );
  if (error.name !== name) throw error;
  return error;
}

async function aborted() {
  const controller = new AbortController();
  const reading = failing(sandbox.filesystem.read("/never", { signal: controller.signal }), "AbortError");
  setTimeout(() => controller.abort(), 1);
  await reading;
}

async function left() {
  for await (const _ of await sandbox.commands.start("open")) break;
}

const pick = random(1);

/** A stream that breaks at a random byte. */
async function cut() {
  const place = 1 + pick(bytes.length);
  const { stdout } = await failing(sandbox.execStream(`cut ${place}`), "InterruptedError");
  if (stdout !== wholeAt(place)) throw new Error(`cut at ${place}: ${JSON.stringify(stdout)}`);
}

/** A worker that loads the package, makes a call, and is ended during a stream. */
async function worker() {
  const thread = new Worker(
    `const sdk = require(${JSON.stringify(fileURLToPath(new URL("../..", import.meta.url)))});
     const client = new sdk.Client({ apiUrl: ${JSON.stringify(apiUrl)}, apiKey: "pds_test" });
     const sandbox = sdk.Sandbox.fromInfo({ id: "sb" }, client);
     sandbox.exec("x").then(() => sandbox.execStream("open", { onStdout: () => require("worker_threads").parentPort.postMessage(1) }));`,
    { eval: true },
  );
  await new Promise((resolve, reject) => thread.once("message", resolve).once("error", reject));
  await thread.terminate();
}

const kinds = {
  requests: [() => sandbox.refresh(), 32],
  errors: [() => failing(client.volumes.get("none"), "NotFoundError"), 32],
  cut: [cut, 16],
  left: [left, 16],
  aborts: [aborted, 32],
  uploads: [() => sandbox.filesystem.write("/a", upload), 8],
  workers: [worker, 4],
};

/** Runs `work` `count` times, at most `lanes` at once. */
async function repeat(work, count, lanes) {
  let left = count;
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** What the process holds, once connections that were left have closed. */
async function held() {
  for (let round = 0; round < 5; round += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  const status = readFileSync("/proc/self/status", "utf8");
  return {
    rssMb: Number(status.match(/VmRSS:\s+(\d+)/)[1]) / 1024,
    threads: Number(status.match(/Threads:\s+(\d+)/)[1]),
    fds: readdirSync("/proc/self/fd").length,
    resources: process.getActiveResourcesInfo().filter((name) => name !== "PipeWrap").length,
  };
}

process.on("unhandledRejection", (error) => {
  console.error("unhandled rejection:", error);
  process.exit(3);
});
const [work, lanes] = kinds[kind];
const count = Number(times);
// The first fifth fills caches and pools.
await repeat(work, Math.ceil(count / 5), lanes);
const before = await held();
await repeat(work, count - Math.ceil(count / 5), lanes);
const after = await held();
console.log(JSON.stringify({ kind, times: count, before, after }));
