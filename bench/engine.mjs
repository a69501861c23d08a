// Figures of the local engine, seen from JavaScript.
import { Sandbox } from "@pandastack/sdk";
import { pause, row, times } from "./measure.mjs";

const options = { template: "code-interpreter", ttlSeconds: 600, metadata: { bench: "true" } };
const config = { apiUrl: "local" };

async function firstResult() {
  const sandbox = await Sandbox.create(options, config);
  const context = await sandbox.createCodeContext();
  const { text } = await context.runCode("1+1");
  if (text !== "2") throw new Error(`1+1 gave: \`${text}\``);
  return sandbox;
}

/** With pauses the pool is full each time; without, creations overtake it. */
async function creation() {
  const refill = async (sandbox) => {
    await sandbox.kill();
    await pause(1500);
  };
  const hits = await times(10, firstResult, refill);
  const made = [];
  const misses = await times(10, firstResult, async (sandbox) => void made.push(sandbox));
  await Promise.all(made.map((sandbox) => sandbox.kill()));
  return [
    row("create → first runCode result, after a pause", hits, "ms", "15 ms"),
    row("create → first runCode result, one after the other", misses, "ms", "130 ms"),
  ];
}

async function oneSandbox() {
  const sandbox = await Sandbox.create(options, config);
  try {
    const context = await sandbox.createCodeContext();
    const rows = [row('runCode("1+1")', await times(300, () => context.runCode("1+1")), "ms", "1 ms")];
    const contexts = await times(
      12,
      () => sandbox.createCodeContext(),
      async (made) => {
        await made.close();
        // The next kernel is forked in the background.
        await pause(1000);
      },
    );
    rows.push(row("createCodeContext", contexts, "ms", "15 ms"));
    rows.push(row('exec("true")', await times(100, () => sandbox.exec("true")), "ms", "10 ms"));
    const data = new Uint8Array(64 << 20);
    rows.push(row("64 MiB into a sandbox", await times(5, () => sandbox.filesystem.write("/root/bench.bin", data)), "ms", "–"));
    return rows;
  } finally {
    await sandbox.kill();
  }
}

export async function engineRows() {
  return [...(await creation()), ...(await oneSandbox())];
}
