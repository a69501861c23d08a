// What the host has of an engine's sandboxes, found without asking the engine.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

/** A process of `runsc` for one sandbox of a home. */
export interface RunscProcess {
  pid: number;
  /** The sandbox; undefined for a command about none. */
  id: string | undefined;
  /** True for the sandbox itself, false for a command about it. */
  isSandbox: boolean;
  command: string;
}

function argumentsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
  } catch {
    return [];
  }
}

const pids = () => readdirSync("/proc").map(Number).filter(Number.isInteger);

/** Processes of `runsc` under the home, sandboxes and commands. */
export function runscProcesses(home: string): RunscProcess[] {
  const root = join(home, "run");
  const found: RunscProcess[] = [];
  for (const pid of pids()) {
    const words = argumentsOf(pid);
    const isOurs = words.includes(`--root=${root}`) || words[words.indexOf("--root") + 1] === root;
    if (!isOurs) continue;
    const id = words
      .slice(-3)
      .reverse()
      .map((word) => uuid.exec(word)?.[0])
      .find((id) => id !== undefined);
    found.push({ pid, id, isSandbox: words.includes("boot"), command: words.join(" ") });
  }
  return found;
}

/** Command lines of all processes that name the home. */
export function processesNaming(home: string): string[] {
  const lines = pids().map((pid) => (pid === process.pid ? "" : argumentsOf(pid).join(" ")));
  return lines.filter((line) => line.includes(home));
}

/** Names in a folder of the home; none if it does not exist. */
export function names(...path: string[]): string[] {
  return existsSync(join(...path)) ? readdirSync(join(...path)).sort() : [];
}

/** Ids in the names of `runsc`'s own files. */
export function idsIn(files: string[]): Set<string> {
  return new Set(files.map((name) => uuid.exec(name)?.[0]).filter((id): id is string => id !== undefined));
}

/** Named pipes under the home, for each sandbox's folder how many. */
export function pipes(home: string): Map<string, number> {
  const found = execFileSync("find", [join(home, "sandboxes"), "-type", "p"], { encoding: "utf8" });
  const counts = new Map<string, number>();
  for (const path of found.split("\n").filter(Boolean)) {
    const id = uuid.exec(path)?.[0] ?? path;
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

/** Places where something is mounted at or below the home. */
export function mounts(home: string): string[] {
  const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  return lines.map((line) => line.split(" ")[4] ?? "").filter((place) => place === home || place.startsWith(`${home}/`));
}

/** Folder of the control groups of an engine, in each tree, learned from one of its sandboxes; empty if there are none. */
export function groupFolders(sandbox: RunscProcess): string[] {
  const lines = readFileSync(`/proc/${sandbox.pid}/cgroup`, "utf8").split("\n");
  return lines.flatMap((line) => {
    const [, controllers = "", path = ""] = line.split(":");
    if (!sandbox.id || !path.endsWith(`/${sandbox.id}`)) return [];
    return [join("/sys/fs/cgroup", controllers.replace(/^name=/, ""), path, "..")];
  });
}

/** Rows of a table of the engine's database, as JSON objects, read by another program than the engine. */
export function rows(home: string, table: "sandboxes" | "snapshots"): Record<string, unknown>[] {
  const program = `import json, sqlite3, sys
connection = sqlite3.connect(sys.argv[1]); connection.row_factory = sqlite3.Row
print(json.dumps([dict(row) for row in connection.execute("SELECT * FROM " + sys.argv[2])]))`;
  const printed = execFileSync("python3", ["-c", program, join(home, "engine.db"), table], {
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  return JSON.parse(printed);
}
