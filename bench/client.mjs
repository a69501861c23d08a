// What the client costs, against release 0.9.0 in the same run and against the same server, which answers at once.
import { fork, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as sdk from "@pandastack/sdk";
import * as release from "pandastack-sdk-0.9.0";
import { cpuPerCall, inFlight, median, row, times } from "./measure.mjs";

const MEBIBYTES = 64;
const EVENTS = 50_000;

/** Measures both and gives two rows, and the ratio of their medians beside the target. */
async function compare(figure, target, unit, measure) {
  const values = { old: [], new: [] };
  // In turns, so that a busy moment of the machine hits both.
  for (let round = -1; round < 7; round += 1) {
    for (const [name, clientPackage] of [
      ["old", release],
      ["new", sdk],
    ]) {
      const value = await measure(clientPackage);
      if (round >= 0) values[name].push(value);
    }
  }
  const ratio = (median(values.new) / median(values.old)).toFixed(2);
  return [row(figure, values.new, unit, `${target} of 0.9.0; is ${ratio}`), row(`  the same with 0.9.0`, values.old, unit, "")];
}

async function rows(apiUrl, folder) {
  const config = { apiUrl, apiKey: `pds_${"0".repeat(32)}` };
  const sandboxOf = async ({ Sandbox }) => Sandbox.get("11111111-1111-4111-8111-111111111111", config);
  const oneTime = async (run) => (await times(1, run))[0];
  const file = join(folder, "up.bin");
  writeFileSync(file, Buffer.alloc(MEBIBYTES << 20, "panda"));
  return [
    ...(await compare("CPU of a small call, 64 in flight", "≤ 1/3", "µs", async (clientPackage) => {
      const sandbox = await sandboxOf(clientPackage);
      return cpuPerCall(2000, () => inFlight(2000, 64, () => sandbox.exec("true")));
    })),
    ...(await compare("latency of a small call, 1 in flight", "–", "µs", async (clientPackage) => {
      const sandbox = await sandboxOf(clientPackage);
      return median(await times(500, () => sandbox.exec("true"))) * 1000;
    })),
    ...(await compare("latency of a small call, 64 in flight", "–", "µs", async (clientPackage) => {
      const sandbox = await sandboxOf(clientPackage);
      const took = [];
      await inFlight(2000, 64, async () => took.push((await times(1, () => sandbox.exec("true"), undefined, 0))[0]));
      return median(took) * 1000;
    })),
    ...(await compare("CPU of an execStream event", "≤ 0.7", "µs", async (clientPackage) => {
      const sandbox = await sandboxOf(clientPackage);
      return cpuPerCall(EVENTS, () => sandbox.execStream(String(EVENTS), { onStdout: () => {} }));
    })),
    ...(await compare(`CPU of ${MEBIBYTES} MiB up`, "≤ 1/3", "ms", async (clientPackage) => {
      const sandbox = await sandboxOf(clientPackage);
      return cpuPerCall(1000, () => sandbox.filesystem.upload(file, "/root/up.bin"));
    })),
    ...(await compare("import", "60 ms", "ms", (clientPackage) => inProcess(clientPackage, IMPORT))),
    ...(await compare("peak memory, 64 MiB up and down and a stream", "–", "MiB", (clientPackage) =>
      inProcess(clientPackage, PEAK, apiUrl, file, join(folder, "down.bin")),
    )),
    ...(await compare(`${MEBIBYTES} MiB up`, "≤ 1/3", "ms", async (clientPackage) => {
      const sandbox = await sandboxOf(clientPackage);
      return oneTime(() => sandbox.filesystem.upload(file, "/root/up.bin"));
    })),
    ...(await compare(`${MEBIBYTES} MiB down`, "≤ 1/2", "ms", async (clientPackage) => {
      const sandbox = await sandboxOf(clientPackage);
      return oneTime(() => sandbox.filesystem.download(`/root/${MEBIBYTES}.bin`, join(folder, "down.bin")));
    })),
    ...(await compare("execStream, each event", "≤ 0.7", "µs", async (clientPackage) => {
      const sandbox = await sandboxOf(clientPackage);
      let bytes = 0;
      const onStdout = (text) => {
        bytes += text.length;
      };
      const total = await oneTime(() => sandbox.execStream(String(EVENTS), { onStdout }));
      if (bytes === 0) throw new Error("no event arrived");
      return (total * 1000) / EVENTS;
    })),
  ];
}

const IMPORT = `
  const began = performance.now();
  require(process.argv[1]);
  console.log(performance.now() - began);`;

const PEAK = `
  const [name, apiUrl, up, down] = process.argv.slice(1);
  (async () => {
    const { Sandbox } = require(name);
    const sandbox = await Sandbox.get("11111111-1111-4111-8111-111111111111", { apiUrl, apiKey: "pds_" + "0".repeat(32) });
    await sandbox.filesystem.upload(up, "/root/up.bin");
    await sandbox.filesystem.download("/root/${MEBIBYTES}.bin", down);
    await sandbox.execStream("${EVENTS}", { onStdout() {} });
    console.log(process.resourceUsage().maxRSS / 1024);
  })();`;

/** The number that a process of its own prints. */
async function inProcess(clientPackage, program, ...args) {
  const name = clientPackage === sdk ? "@pandastack/sdk" : "pandastack-sdk-0.9.0";
  const cwd = new URL("..", import.meta.url);
  const child = spawn(process.execPath, ["-e", program, name, ...args], { cwd, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  for await (const piece of child.stdout) output += piece;
  return Number(output);
}

export async function clientRows() {
  const folder = mkdtempSync(join(tmpdir(), "pandastack-bench-"));
  const server = fork(new URL("server.mjs", import.meta.url));
  try {
    const port = await new Promise((resolve, reject) => server.once("message", resolve).once("error", reject));
    return await rows(`http://127.0.0.1:${port}`, folder);
  } finally {
    server.disconnect();
    rmSync(folder, { recursive: true });
  }
}
