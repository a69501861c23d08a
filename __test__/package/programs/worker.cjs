// The addon in the main thread and in workers that come and go.
const assert = require("node:assert/strict");
const { Worker, isMainThread, parentPort } = require("node:worker_threads");
const { Client, NetworkError } = require("@pandastack/sdk");

/** Nobody listens there; what rejects has been through the addon. */
async function refused() {
  const client = new Client({ apiUrl: "http://127.0.0.1:1", apiKey: "none" });
  const failure = await client.me().catch((error) => error);
  assert.ok(failure instanceof NetworkError, String(failure));
}

async function inWorker() {
  const worker = new Worker(__filename);
  const message = await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
  await worker.terminate();
  assert.equal(message, "refused");
}

async function main() {
  await Promise.all([refused(), inWorker(), inWorker()]);
  await inWorker();
  console.log("worker: as it should be");
}

if (isMainThread) main();
else refused().then(() => parentPort.postMessage("refused"));
