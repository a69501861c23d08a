// Kills what an engine consists of.
import { setTimeout as sleep } from "node:timers/promises";
import type { TestEngine } from "../engine.js";
import { runscProcesses } from "../host.js";
import type { Random } from "../random.js";
import type { Model } from "./model.js";

const WEIGHTS = { daemon: 3, sandbox: 2, command: 3 };

/** How long a command of `runsc` is waited for, in milliseconds. */
const COMMAND_PATIENCE_MS = 2000;

export class Killer {
  /** Number of kills so far, by kind. */
  readonly kills = { daemon: 0, sandbox: 0, command: 0 };
  /** When something was killed last, in milliseconds of the process. */
  last = Number.NEGATIVE_INFINITY;
  /** Settles once the engine is up again. */
  isUp: Promise<void> = Promise.resolve();

  constructor(
    private readonly engine: TestEngine,
    private readonly model: Model,
    private readonly random: Random,
  ) {}

  /** Kills the daemon, the process of a sandbox, or a command of `runsc`. */
  async kill(): Promise<void> {
    const kind = this.random.weighted(WEIGHTS);
    const killed = kind === "sandbox" ? this.killSandbox() : kind === "command" ? await this.killCommand() : false;
    if (!killed) await this.killDaemon();
  }

  private async killDaemon(): Promise<void> {
    this.kills.daemon++;
    this.last = performance.now();
    this.isUp = this.engine.kill("SIGKILL").then(() => this.engine.serve());
    await this.isUp;
    this.last = performance.now();
  }

  private killSandbox(): boolean {
    return this.killOne("sandbox", (process) => process.isSandbox);
  }

  private async killCommand(): Promise<boolean> {
    const began = performance.now();
    while (performance.now() - began < COMMAND_PATIENCE_MS) {
      if (this.killOne("command", (process) => !process.isSandbox)) return true;
      await sleep(5);
    }
    return false;
  }

  private killOne(kind: "sandbox" | "command", isWanted: (process: { isSandbox: boolean }) => boolean): boolean {
    const found = this.random.pick(runscProcesses(this.engine.home).filter((process) => process.id && isWanted(process)));
    if (!found?.id) return false;
    this.model.hurt.add(found.id);
    try {
      process.kill(found.pid, "SIGKILL");
    } catch {
      return false;
    }
    this.kills[kind]++;
    this.last = performance.now();
    return true;
  }
}
