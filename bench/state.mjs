// Figures of snapshots, forks and hibernation on the local engine, and the memory of an idle sandbox.
import { readdirSync, readFileSync } from "node:fs";
import { Sandbox } from "@pandastack/sdk";
import { pause, row, times } from "./measure.mjs";

const options = { template: "code-interpreter", ttlSeconds: 600, metadata: { bench: "true" } };
const config = { apiUrl: "local" };

/** Pools fill up again, and the host forgets what was deleted. */
const settle = () => pause(1500);

/** The longest gap, in milliseconds, between two of the lines that a command prints every 5 ms while `work` is done. */
async function longestGap(sandbox, work) {
  const command = await sandbox.commands.start("while :; do echo; sleep 0.005; done");
  const arrivals = [];
  const reading = (async () => {
    for await (const _ of command) arrivals.push(performance.now());
  })();
  await pause(300);
  const begin = arrivals.length;
  await work();
  await pause(100);
  await command.kill();
  await reading.catch(() => {});
  return Math.max(...arrivals.slice(begin).map((time, index) => time - arrivals[begin + index - 1]));
}

/** Proportional memory of all host processes of a sandbox, in MB. */
function memoryOf(id) {
  const processes = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const parents = new Map(processes.map((pid) => [pid, parentOf(pid)]));
  const own = new Set(processes.filter((pid) => read(`/proc/${pid}/cmdline`).includes(id)));
  for (let before = -1; before !== own.size; ) {
    before = own.size;
    for (const [pid, parent] of parents) if (own.has(parent)) own.add(pid);
  }
  const kilobytes = [...own].map((pid) => Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0));
  return (kilobytes.reduce((sum, value) => sum + value, 0) * 1024) / 1e6;
}

function parentOf(pid) {
  return /\) \S (\d+)/.exec(read(`/proc/${pid}/stat`))?.[1];
}

/** The text of a file of a process, which may have ended. */
function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

async function answers(sandbox) {
  if ((await sandbox.exec("echo on")).stdout !== "on\n") throw new Error(`sandbox does not answer: ${sandbox.id}`);
}

async function forks(sandbox) {
  const kill = async (children) => {
    await Promise.all([children].flat().map((child) => child.kill()));
    await settle();
  };
  const one = await times(
    8,
    async () => {
      const child = await sandbox.fork();
      await Promise.all([answers(child), answers(sandbox)]);
      return child;
    },
    kill,
  );
  const eight = await times(3, () => sandbox.forkTree({ count: 8 }), kill);
  const stalls = [];
  for (let round = 0; round < 5; round += 1) {
    const children = [];
    stalls.push(await longestGap(sandbox, async () => void children.push(await sandbox.fork())));
    await kill(children);
  }
  return [
    row("fork: parent and child have answered", one, "ms", "180 ms"),
    row("fork: longest gap in a stream of the parent", stalls, "ms", "60 ms"),
    row("fork tree of 8", eight, "ms", "750 ms"),
  ];
}

async function snapshots(sandbox, context) {
  const taken = await times(8, () => sandbox.snapshot(), settle);
  const sleep = [];
  const wake = await times(
    8,
    async () => void (await context.runCode("1+1")),
    async () => {
      await settle();
      sleep.push(...(await times(1, () => sandbox.hibernate(), undefined, 0)));
      await settle();
    },
  );
  return [
    row("snapshot", taken, "ms", "100 ms"),
    row("hibernate", sleep, "ms", "120 ms"),
    row("wake → first result of a cell", wake.slice(1), "ms", "120 ms"),
  ];
}

export async function stateRows() {
  const sandbox = await Sandbox.create(options, config);
  try {
    await settle();
    const memory = [row("memory of an idle sandbox, libraries warm", [memoryOf(sandbox.id)], "MB", "100 MB")];
    const context = await sandbox.createCodeContext();
    await context.runCode("import numpy, pandas, matplotlib.pyplot; x = 1");
    await settle();
    memory.push(row("the same with one context used", [memoryOf(sandbox.id)], "MB", "–"));
    return [...(await forks(sandbox)), ...(await snapshots(sandbox, context)), ...memory];
  } finally {
    await sandbox.kill();
  }
}
