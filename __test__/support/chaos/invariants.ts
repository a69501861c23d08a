// What must be true of an engine at rest, whatever was killed before.
import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, Sandbox } from "@pandastack/sdk";
import type { TestEngine } from "../engine.js";
import { groupFolders, idsIn, mounts, names, pipes, rows, runscProcesses } from "../host.js";
import { ABSENT, type Model, type Possible, type State } from "./model.js";

/** How long the engine may take to clear up and to refill its pools, in milliseconds. */
const PATIENCE_MS = 60_000;

/**
 * Everything that is wrong with an engine to which nobody talks any more:
 * - its rows, and the processes, folders, pipes, control groups and mounts of the host say the same;
 * - each sandbox that is to be alive answers with its variable and files, or was hurt and is reported as failed with a reason; no other is listed;
 * - each snapshot that is to be there gives a sandbox with what it is to have; no other is listed.
 */
export async function violations(engine: TestEngine, client: Client, model: Model): Promise<string[]> {
  const ofHost = await settled(() => differences(engine, client));
  return [...ofHost, ...(await wrongSandboxes(client, model)), ...(await wrongSnapshots(client, model))];
}

/** What is left of sandboxes after the engine was stopped and all of them were deleted. */
export async function leftovers(home: string): Promise<string[]> {
  return settled(async () => [
    ...runscProcesses(home).map((process) => `process left: ${process.command.slice(0, 200)}`),
    ...["sandboxes", "snapshots", "hibernated", "run"].flatMap((folder) =>
      names(home, folder).map((name) => `left in ${folder}: ${name}`),
    ),
    ...rows(home, "sandboxes")
      .filter((row) => row.status !== "failed" && row.status !== "deleted")
      .map((row) => `row left: ${row.id} ${row.status}`),
    ...mounts(home)
      .filter((place) => place !== home)
      .map((place) => `mounted: ${place}`),
  ]);
}

/** Looks again until nothing is wrong or patience ends. */
async function settled(look: () => Promise<string[]>): Promise<string[]> {
  const began = performance.now();
  for (;;) {
    const found = await look();
    if (found.length === 0 || performance.now() - began > PATIENCE_MS) return found;
    await sleep(250);
  }
}

const isSame = (one: Set<string>, other: Set<string>) => one.size === other.size && [...one].every((id) => other.has(id));

function difference(what: string, found: Set<string>, expected: Set<string>): string[] {
  if (isSame(found, expected)) return [];
  const more = [...found].filter((id) => !expected.has(id));
  const less = [...expected].filter((id) => !found.has(id));
  return [`${what}: too many [${more}], missing [${less}]`];
}

/** Where rows, API and host differ. */
async function differences(engine: TestEngine, client: Client): Promise<string[]> {
  const { home } = engine;
  const all = rows(home, "sandboxes");
  const withStatus = (...wanted: string[]) =>
    new Set(all.filter((row) => wanted.includes(String(row.status))).map((row) => String(row.id)));
  const processes = runscProcesses(home);
  const sandboxes = processes.filter((process) => process.isSandbox);
  const inMemory = withStatus("ready", "running", "paused");
  const count = pipes(home);
  const [first] = sandboxes;
  const groups = first ? groupFolders(first) : [];
  const listed = await Sandbox.list(client);
  const snapshots = new Set(rows(home, "snapshots").map((row) => String(row.id)));
  return [
    ...difference("rows that are neither here nor there", withStatus("creating", "ending"), new Set()),
    ...difference("processes of sandboxes", new Set(sandboxes.map(({ id }) => String(id))), inMemory),
    ...processes.filter((process) => !process.isSandbox).map((process) => `command under way: ${process.command}`),
    ...difference("folders of sandboxes", new Set(names(home, "sandboxes")), inMemory),
    ...difference("files of runsc", idsIn(names(home, "run")), inMemory),
    ...difference(
      "sandboxes with three pipes",
      new Set([...count].filter(([, pipes]) => pipes === 3).map(([id]) => id)),
      inMemory,
    ),
    ...groups.flatMap((folder) => difference(`control groups in ${folder}`, idsIn(readdirSync(folder)), inMemory)),
    ...difference("images of hibernated sandboxes", new Set(names(home, "hibernated")), withStatus("hibernated")),
    ...difference("images of snapshots", new Set(names(home, "snapshots")), snapshots),
    ...difference("listed snapshots", new Set((await client.snapshots.list()).map(({ id }) => id)), snapshots),
    ...difference(
      "listed sandboxes",
      new Set(listed.map(({ id }) => id)),
      withStatus("running", "paused", "hibernated", "failed"),
    ),
    ...mounts(home)
      .filter((place) => place !== home)
      .map((place) => `mounted: ${place}`),
  ];
}

async function wrongSandboxes(client: Client, model: Model): Promise<string[]> {
  const listed = new Map((await Sandbox.list(client)).map((sandbox) => [sandbox.id, sandbox]));
  const wrong: string[] = [];
  for (const [id, known] of model.sandboxes) {
    if (!listed.has(id) && !known.mayBeGone) wrong.push(`sandbox ${id} is not listed`);
  }
  for (const [id, sandbox] of listed) {
    const state = model.sandboxes.get(id)?.state ?? model.unclearSandboxes.get(sandbox.info.metadata?.chaos ?? "");
    const { reason } = sandbox.info as { reason?: unknown };
    if (sandbox.status === "failed") {
      if (!reason) wrong.push(`sandbox ${id} failed without a reason`);
      // A creation that failed may have been hurt before anybody knew its id.
      if (!model.hurt.has(id)) wrong.push(`sandbox ${id} was lost although nobody hurt it: ${reason}`);
    } else if (!state) wrong.push(`sandbox ${id} (${sandbox.status}, ${JSON.stringify(sandbox.info.metadata)}) is nobody's`);
    else wrong.push(...(await compare(`sandbox ${id}`, sandbox, state)));
  }
  return wrong;
}

async function wrongSnapshots(client: Client, model: Model): Promise<string[]> {
  const listed = await client.snapshots.list();
  const wrong: string[] = [];
  for (const [id, known] of model.snapshots) {
    if (!known.mayBeGone && !listed.some((snapshot) => snapshot.id === id)) wrong.push(`snapshot ${id} is not listed`);
  }
  for (const { id, sandbox_id } of listed) {
    const unclear = model.unclearSnapshots.filter((unclear) => unclear.sandboxId === sandbox_id).map(({ state }) => state);
    const known = model.snapshots.get(id)?.state;
    const states = known ? [known] : unclear;
    if (states.length === 0) {
      wrong.push(`snapshot ${id} of ${sandbox_id} is nobody's`);
      continue;
    }
    const made = await Sandbox.create({ fromSnapshot: id }, client).catch((error) => String(error));
    if (typeof made === "string") {
      wrong.push(`snapshot ${id} cannot be used: ${made}`);
      continue;
    }
    const compared = await Promise.all(states.map((state) => compare(`snapshot ${id}`, made, state)));
    if (compared.every((found) => found.length > 0)) wrong.push(...(compared[0] ?? []));
    await made.kill();
  }
  return wrong;
}

/** Where a sandbox has something else than it may have. */
async function compare(what: string, sandbox: Sandbox, state: State): Promise<string[]> {
  try {
    if (sandbox.status === "paused") await sandbox.resume();
    const { stdout } = await sandbox.exec(
      `for name in written echoed; do [ -e /root/$name ] && echo "=$(cat /root/$name)" || echo =${ABSENT}; done`,
    );
    const [written = "", echoed = ""] = stdout.split("\n").map((line) => line.slice(1));
    const [context] = await sandbox.listCodeContexts();
    const found = await context?.runCode(`print(globals().get("variable", "${ABSENT}"))`);
    const variable = found ? found.stdout.trim() : ABSENT;
    return [
      ...unless(what, "variable", variable, state.variable),
      ...unless(what, "written", written, state.written),
      ...unless(what, "echoed", echoed, state.echoed),
    ];
  } catch (error) {
    return [`${what} does not answer: ${error}`];
  }
}

function unless(what: string, kept: string, found: string, possible: Possible): string[] {
  return possible.has(found) ? [] : [`${what} has ${kept} = "${found}", not one of [${[...possible]}]`];
}
