// Random operations on random sandboxes; what is known of each is kept up to date.
import { type Client, Sandbox } from "@pandastack/sdk";
import type { Random } from "../random.js";
import { freshState, type Kept, type KnownSandbox, type Model, type State } from "./model.js";

/** How often each operation is done, beside the others. */
const WEIGHTS = {
  create: 6,
  cell: 10,
  exec: 6,
  file: 6,
  snapshot: 8,
  createFrom: 8,
  fork: 8,
  forkTree: 5,
  promote: 4,
  pause: 4,
  resume: 4,
  hibernate: 8,
  wake: 6,
  remove: 5,
  removeSnapshot: 5,
};
export type Operation = keyof typeof WEIGHTS;

/** Fewer sandboxes than that: one more is made. More: one is deleted. */
const FEWEST = 3;
const MOST = 9;
const MOST_SNAPSHOTS = 6;

export class Operations {
  private count = 0;

  constructor(
    private readonly client: Client,
    private readonly model: Model,
    private readonly random: Random,
  ) {}

  /** Chooses an operation that can be done now. */
  choose(): Operation {
    const { snapshots } = this.model;
    const alive = [...this.model.sandboxes.values()].filter((known) => !known.mayBeGone && !known.isGivenUp).length;
    if (alive < FEWEST) return "create";
    if (alive > MOST) return "remove";
    if (snapshots.size > MOST_SNAPSHOTS) return "removeSnapshot";
    return this.random.weighted(WEIGHTS);
  }

  /** Does it. Rejects as the SDK does; false if there was nothing to do it to. Sandboxes that it needs are taken from all others meanwhile. */
  async carryOut(operation: Operation): Promise<boolean> {
    if (operation === "create") return this.create();
    if (operation === "createFrom" || operation === "removeSnapshot") return this.onSnapshot(operation);
    if (operation === "promote") return this.promote();
    const target = this.random.pick(this.free());
    if (!target) return false;
    target.isBusy = true;
    try {
      await this.onSandbox(operation, target);
    } finally {
      target.isBusy = false;
    }
    return true;
  }

  /** Sandboxes that are there for sure and that nobody works with. */
  private free(): KnownSandbox[] {
    return [...this.model.sandboxes.values()].filter((known) => !known.isBusy && !known.mayBeGone && !known.isGivenUp);
  }

  private async onSandbox(
    operation: Exclude<Operation, "create" | "createFrom" | "removeSnapshot" | "promote">,
    target: KnownSandbox,
  ): Promise<void> {
    const { sandbox } = target;
    if (operation === "remove") {
      target.mayBeGone = true;
      await sandbox.kill();
      this.model.sandboxes.delete(sandbox.id);
      return;
    }
    if (operation === "pause") return this.setPaused(target, true);
    if (operation === "hibernate") {
      await sandbox.hibernate();
      target.isPaused = false;
      return;
    }
    if (target.isPaused !== false || operation === "wake" || operation === "resume") await this.setPaused(target, false);
    if (operation === "cell") await this.cell(target);
    else if (operation === "exec")
      await this.change(target, "echoed", (value) => sandbox.exec(`printf %s ${value} > /root/echoed`, { check: true }));
    else if (operation === "file")
      await this.change(target, "written", (value) => sandbox.filesystem.write("/root/written", value));
    else if (operation === "snapshot") await this.snapshot(target);
    else if (operation === "fork") await this.fork(target, 1);
    else if (operation === "forkTree") await this.fork(target, 2 + this.random.below(2));
  }

  private async setPaused(target: KnownSandbox, isPaused: boolean): Promise<void> {
    target.isPaused = undefined;
    await (isPaused ? target.sandbox.pause() : target.sandbox.resume());
    target.isPaused = isPaused;
  }

  /** Changes a value: while that is under way, and if it is cut, it may be the old one, the new one, or empty. */
  private async change(target: KnownSandbox, kept: Kept, work: (value: string) => Promise<unknown>): Promise<void> {
    const value = String(++this.count);
    target.state = { ...target.state, [kept]: new Set([...target.state[kept], value, ""]) };
    await work(value);
    target.state = { ...target.state, [kept]: new Set([value]) };
  }

  private async cell(target: KnownSandbox): Promise<void> {
    if (!target.context) {
      const [first] = await target.sandbox.listCodeContexts();
      target.context = first ?? (await target.sandbox.createCodeContext());
      target.state.contextId = target.context.id;
    }
    const { context } = target;
    await this.change(target, "variable", async (value) => {
      const { error, status } = await context.runCode(`variable = "${value}"`);
      if (error) throw new Error(`the cell failed (${status}): ${error}`);
    });
  }

  private label(): string {
    return `op-${++this.count}`;
  }

  /** Makes sandboxes with a label; if the call is cut, some with that label may be there. */
  private async make(state: State, work: (label: Record<string, string>) => Promise<Sandbox[]>): Promise<KnownSandbox[]> {
    const label = this.label();
    this.model.unclearSandboxes.set(label, { ...state });
    const made = await work({ chaos: label });
    this.model.unclearSandboxes.delete(label);
    return made.map((sandbox) => this.model.add(sandbox, state));
  }

  private async create(): Promise<boolean> {
    const [known] = await this.make(freshState(), async (metadata) => [await Sandbox.create({ metadata }, this.client)]);
    if (!known) return false;
    known.isBusy = true;
    try {
      await this.cell(known);
    } finally {
      known.isBusy = false;
    }
    return true;
  }

  private async fork(target: KnownSandbox, count: number): Promise<void> {
    const { sandbox, state } = target;
    await this.make(state, async (metadata) =>
      count === 1 ? [await sandbox.fork({ metadata })] : sandbox.forkTree({ metadata, count }),
    );
  }

  private async snapshot(target: KnownSandbox): Promise<void> {
    const unclear = { sandboxId: target.sandbox.id, state: { ...target.state } };
    this.model.unclearSnapshots.push(unclear);
    const { id } = await target.sandbox.snapshot();
    this.model.unclearSnapshots.splice(this.model.unclearSnapshots.indexOf(unclear), 1);
    this.model.snapshots.set(id, { state: unclear.state, mayBeGone: false, isBusy: false });
  }

  private async onSnapshot(operation: "createFrom" | "removeSnapshot"): Promise<boolean> {
    const free = [...this.model.snapshots].filter(([, known]) => !known.isBusy && !known.mayBeGone);
    const [id, snapshot] = this.random.pick(free) ?? [];
    if (!id || !snapshot) return false;
    snapshot.isBusy = true;
    try {
      if (operation === "createFrom") {
        await this.make(snapshot.state, async (metadata) => [await Sandbox.create({ metadata, fromSnapshot: id }, this.client)]);
      } else {
        snapshot.mayBeGone = true;
        await this.client.snapshots.delete(id);
        this.model.snapshots.delete(id);
      }
    } finally {
      snapshot.isBusy = false;
    }
    return true;
  }

  /** Keeps one child of a fork tree, deletes its siblings. */
  private async promote(): Promise<boolean> {
    const winner = this.random.pick(this.free().filter((known) => known.tree));
    const tree = [...this.model.sandboxes.values()].filter((known) => winner && known.tree === winner.tree);
    if (!winner || tree.some((known) => known.isBusy)) return false;
    for (const known of tree) known.isBusy = true;
    for (const known of tree) known.mayBeGone = known !== winner;
    try {
      const { deleted } = await winner.sandbox.promote({ cleanupSiblings: true });
      for (const id of deleted ?? []) this.model.sandboxes.delete(id);
    } finally {
      for (const known of tree) known.isBusy = false;
    }
    return true;
  }
}
