// Many clients that work on many sandboxes of one engine at once.
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, type CodeContext, Sandbox } from "@pandastack/sdk";
import type { TestEngine } from "./engine.js";
import { groupFolders, idsIn, names, processesNaming, runscProcesses } from "./host.js";
import { Random } from "./random.js";

const WEIGHTS = { use: 6, fork: 3, hibernate: 2, remove: 2 };

/** Longest wait before a refused call is made again, in milliseconds. */
const LONGEST_WAIT_MS = 1000;

interface Counted {
  sandbox: Sandbox;
  context: CodeContext;
  count: number;
}

/** What was done, how often it was refused for want of room, and what went wrong. */
export interface Tally {
  done: Record<string, number>;
  refused: number;
  wrong: string[];
}

/** One client with its share of the sandboxes: everything once, then at random until `deadline` (milliseconds of the process). All are deleted then. */
export async function client(engine: TestEngine, seed: number, share: number, deadline: number, tally: Tally): Promise<void> {
  const random = new Random(seed);
  const client = new Client({ apiUrl: engine.apiUrl, maxCreateRetrySeconds: 0, timeoutMs: 300_000 });
  const held: Counted[] = [];
  const first = Object.keys(WEIGHTS);
  while (first.length > 0 || performance.now() < deadline) {
    const kind = held.length < share ? "create" : (first[0] ?? random.weighted(WEIGHTS));
    try {
      await step(kind, client, held, random);
      if (kind === first[0]) first.shift();
      tally.done[kind] = (tally.done[kind] ?? 0) + 1;
    } catch (error) {
      const { statusCode, retryAfter } = error as { statusCode?: number; retryAfter?: number };
      if ((statusCode !== 503 && statusCode !== 429) || retryAfter === undefined) {
        tally.wrong.push(`${kind}: ${error}`);
        break;
      }
      tally.refused++;
      await sleep(Math.min(retryAfter * 1000, LONGEST_WAIT_MS));
    }
  }
  await Promise.all(held.map(({ sandbox }) => sandbox.kill()));
  client.close();
}

async function step(kind: string, client: Client, held: Counted[], random: Random): Promise<void> {
  if (kind === "create") {
    const sandbox = await Sandbox.create({}, client);
    try {
      const context = await sandbox.createCodeContext();
      await context.runCode("count = 0");
      held.push({ sandbox, context, count: 0 });
    } catch (error) {
      await sandbox.kill();
      throw error;
    }
    return;
  }
  const index = random.below(held.length);
  const counted = held[index];
  if (!counted) return;
  if (kind === "use") await use(counted);
  else if (kind === "hibernate") {
    await counted.sandbox.hibernate();
    await use(counted);
  } else if (kind === "remove") {
    held.splice(index, 1);
    await counted.sandbox.kill();
  } else {
    const child = await counted.sandbox.fork();
    try {
      await use({ sandbox: child, context: await child.createCodeContext(), count: counted.count });
    } finally {
      await child.kill();
    }
  }
}

async function use(counted: Counted): Promise<void> {
  const { text, error } = await counted.context.runCode("count += 1; count");
  counted.count++;
  if (text !== String(counted.count)) throw new Error(`count is ${text} instead of ${counted.count}: ${error}`);
}

/** What an engine without sandboxes holds of the host. */
export interface Held {
  /** Memory of its process, in MiB. */
  rssMb: number;
  fds: number;
  threads: number;
  /** Sandboxes that it keeps ready. */
  kept: number;
  /** Beyond what it keeps ready: processes of sandboxes, control groups (in the tree that has most), folders. */
  processes: number;
  controlGroups: number;
  folders: number;
}

/** Measures once nothing is left, or after a while. */
export async function heldAtRest(engine: TestEngine): Promise<Held> {
  for (let look = 0; ; look++) {
    const held = await heldNow(engine);
    if (look === 60 || (held.processes === 0 && held.controlGroups === 0 && held.folders === 0)) return held;
    await sleep(500);
  }
}

async function heldNow(engine: TestEngine): Promise<Held> {
  const { pid, ready, blank } = JSON.parse((await engine.cli("engine", "status", "--json")).stdout);
  const kept = ready + blank;
  const field = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  const sandboxes = runscProcesses(engine.home);
  const groups = sandboxes[0] ? groupFolders(sandboxes[0]) : [];
  const folders = ["sandboxes", "hibernated", "snapshots"].map((folder) => names(engine.home, folder).length);
  return {
    rssMb: Math.round(field("VmRSS") / 1024),
    fds: readdirSync(`/proc/${pid}/fd`).length,
    threads: field("Threads"),
    kept,
    processes: processesNaming(engine.home).length - kept,
    controlGroups: Math.max(kept, ...groups.map((folder) => idsIn(readdirSync(folder)).size)) - kept,
    folders: folders.reduce((sum, count) => sum + count, 0) - kept,
  };
}
