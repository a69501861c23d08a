// A run of random operations by several workers, while things are killed and the disk is full for a while.
import { spawnSync } from "node:child_process";
import { rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@pandastack/sdk";
import type { TestEngine } from "../engine.js";
import { Random } from "../random.js";
import { Killer } from "./killer.js";
import { Model } from "./model.js";
import { type Operation, Operations } from "./operations.js";

const WORKERS = 4;

/** How long a kill may show in the outcome of later calls, in milliseconds. */
const AFTERMATH_MS = 500;

/** The part of the run in which the disk is full. */
const FULL_FROM = 0.6;
const FULL_TO = 0.75;

const MB = 1 << 20;

export interface ChaosOptions {
  seed: number;
  operations: number;
  kills: number;
  /** True if the home lies on a disk of its own, which may be filled. */
  fillDisk: boolean;
}

export class ChaosRun {
  readonly model = new Model();
  readonly killer: Killer;
  /** Errors that nothing explains. */
  readonly unexplained: string[] = [];
  /** How often each operation came to its end, was cut by a kill, or was refused because the disk was full. */
  readonly tally = { done: {}, cut: {}, refused: {} } satisfies Record<string, Partial<Record<Operation, number>>>;
  private readonly random: Random;
  private begun = 0;

  constructor(
    private readonly engine: TestEngine,
    private readonly client: Client,
    private readonly options: ChaosOptions,
  ) {
    this.random = new Random(options.seed);
    this.killer = new Killer(engine, this.model, new Random(options.seed + 1));
  }

  async run(): Promise<void> {
    const workers = Array.from({ length: WORKERS }, () => this.work());
    await Promise.all([this.killAlong(), ...workers]);
    this.emptyDisk();
    await this.killer.isUp;
  }

  private get progress(): number {
    return this.begun / this.options.operations;
  }

  private get isDiskFull(): boolean {
    return this.options.fillDisk && this.progress >= FULL_FROM && this.progress < FULL_TO;
  }

  private async work(): Promise<void> {
    const operations = new Operations(this.client, this.model, this.random);
    while (this.begun < this.options.operations) {
      await this.killer.isUp;
      this.begun++;
      if (this.isDiskFull) this.fillDisk();
      else this.emptyDisk();
      await this.attempt(operations);
    }
  }

  private count(outcome: keyof ChaosRun["tally"], operation: Operation): void {
    const counts: Partial<Record<Operation, number>> = this.tally[outcome];
    counts[operation] = (counts[operation] ?? 0) + 1;
  }

  private async attempt(operations: Operations): Promise<void> {
    const operation = operations.choose();
    const began = performance.now();
    const wasFull = this.isDiskFull;
    try {
      const isDone = await operations.carryOut(operation);
      if (isDone) this.count("done", operation);
      else await sleep(20);
    } catch (error) {
      const { name, url } = error as { name: string; url?: string };
      const hurt = [...this.model.hurt].find((id) => url?.includes(id));
      const target = this.model.sandboxes.get(hurt ?? "");
      if (target) target.isGivenUp = true;
      if (name === "CapacityError" && (wasFull || this.isDiskFull)) this.count("refused", operation);
      else if (this.killer.last + AFTERMATH_MS > began || hurt) this.count("cut", operation);
      else this.unexplained.push(`${operation}: ${error} (${url}), ${Math.round(performance.now() - began)} ms`);
    }
  }

  /** Spreads the kills over the run. */
  private async killAlong(): Promise<void> {
    const random = new Random(this.options.seed + 2);
    const { operations, kills } = this.options;
    for (let kill = 1; kill <= kills; kill++) {
      const due = (kill / (kills + 1)) * operations;
      while (this.begun < due) await sleep(10);
      await sleep(random.below(400));
      await this.killer.kill();
    }
  }

  private get filler(): string {
    return join(this.engine.home, "filler");
  }

  /** Leaves up to some ten MB free. */
  private fillDisk(): void {
    const disk = statfsSync(this.engine.home);
    const free = disk.bavail * disk.bsize;
    const left = this.random.below(60 * MB);
    if (free <= left + MB) return;
    const arguments_ = ["--offset", String(this.filled), "--length", String(free - left), this.filler];
    // Where somebody else was quicker, the disk is full without it.
    if (spawnSync("fallocate", arguments_).status === 0) this.filled += free - left;
  }

  private filled = 0;

  private emptyDisk(): void {
    if (this.filled === 0) return;
    rmSync(this.filler, { force: true });
    this.filled = 0;
  }
}
