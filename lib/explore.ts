/**
 * Best of several: each candidate runs in a copy of the sandbox, the best copy is kept.
 */
import { randomUUID } from "node:crypto";
import { throwIfAborted } from "./call.js";
import { ExploreError, TimeoutError } from "./errors.js";
import { runBranch } from "./explore-branch.js";
import { exploreOptions } from "./explore-options.js";
import { checked } from "./options.js";
import type { Sandbox } from "./sandbox.js";

/** Something to try: a command, or a function that uses the copy. */
export interface Candidate {
  /** Name for people. */
  label: string;
  /** Shell command; it succeeds with exit code 0. */
  cmd?: string;
  /** Called with the copy; it succeeds if it does not throw. */
  fn?: (sandbox: Sandbox) => Promise<unknown> | unknown;
  /** Time limit of `cmd` in seconds. Default 60. */
  timeoutS?: number;
  /** Environment of `cmd`. */
  env?: Record<string, string>;
  /** Score, if it is known beforehand. */
  score?: number;
}

/** How a candidate did. */
export interface BranchOutcome {
  /** The candidate's name. */
  label: string;
  /** Id of its copy. */
  sandboxId: string;
  /** True if it succeeded. */
  ok: boolean;
  /** Its score. */
  score: number;
  /** Exit code of `cmd`. */
  exitCode: number | null;
  /** Last 4096 characters of standard output. */
  stdoutTail: string;
  /** Last 4096 characters of standard error. */
  stderrTail: string;
  /** Files that it changed, at most 200. */
  filesChanged: string[];
  /** Wall-clock time in milliseconds. */
  durationMs: number;
  /** What `fn` returned. */
  value?: unknown;
  /** Why it failed. */
  error: string | null;
  /** True if it reached its time limit. */
  timedOut: boolean;
  /** Its copy. */
  readonly sandbox?: Sandbox;
}

/** Options of {@link Sandbox.explore}. */
export interface ExploreOptions {
  /** Scores an outcome. Default: 1 if it succeeded, else 0. */
  scoreFn?: (sandbox: Sandbox, outcome: BranchOutcome) => number | Promise<number>;
  /** Which score wins, or a function that chooses. Default `max`. */
  select?: "max" | "min" | ((outcomes: BranchOutcome[]) => BranchOutcome);
  /** True: only what succeeded can win. Default true. */
  requireSuccess?: boolean;
  /** How many run at once. Default 4. */
  maxConcurrency?: number;
  /** True: the other copies are deleted. Default true. */
  cleanupLosers?: boolean;
  /** True: the winner is made independent and returned. Default true. */
  promoteWinner?: boolean;
  /** True: changed files are found in `/app /work /root /home`; a string: there. Default true. */
  captureFiles?: boolean | string;
  /** How long copies live, in seconds. Default 600. */
  ttlSeconds?: number;
  /** Told about every outcome as it comes. */
  onOutcome?: (outcome: BranchOutcome) => void;
  /** Aborts the exploration; all copies are deleted. */
  signal?: AbortSignal;
  /** Time limit of the whole exploration in milliseconds; all copies are deleted then. Default: none. */
  timeoutMs?: number;
}

/** What an exploration found. */
export interface ExploreResult {
  /** The best copy, if it was to be promoted. */
  winner: Sandbox | null;
  /** How the best candidate did. */
  winnerOutcome: BranchOutcome | null;
  /** All outcomes, best first. */
  outcomes: BranchOutcome[];
  /** Which copies belonged together. */
  treeId: string;
  /** Ids of copies that were deleted. */
  reaped: string[];
  /** Copies that could not be deleted, and why. */
  reapFailures: Record<string, string>;
  /** What went wrong without ending the exploration. */
  errors: string[];
}

/** Most candidates of one exploration. */
const MAX_BRANCHES = 16;

type Settings = Required<Omit<ExploreOptions, "scoreFn" | "onOutcome" | "signal" | "timeoutMs">> &
  Pick<ExploreOptions, "scoreFn" | "onOutcome" | "signal">;

/** @internal See {@link Sandbox.explore}. `forkTree` makes the copies. */
export async function explore(
  given: (Candidate | string)[],
  options: ExploreOptions | undefined,
  forkTree: (
    count: number,
    metadata: Record<string, string>,
    signal: AbortSignal | undefined,
  ) => Promise<{ children: Sandbox[]; treeId: string }>,
): Promise<ExploreResult> {
  const { timeoutMs, signal, ...rest } = checked(exploreOptions, options, "explore") as unknown as ExploreOptions;
  const timer = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  const settings = settingsOf({ ...rest, ...either(signal, timer) });
  const candidates = given.map((candidate) => (typeof candidate === "string" ? { label: candidate, cmd: candidate } : candidate));
  if (candidates.length === 0) throw new ExploreError("explore: no candidates");
  if (candidates.length > MAX_BRANCHES) throw tooMany(candidates.length);
  const labels = { explore: "1", explore_ttl: String(Math.floor(settings.ttlSeconds)) };
  let exploration: Exploration | undefined;
  try {
    const { children, treeId } = await forkTree(candidates.length, labels, settings.signal);
    exploration = new Exploration(settings, children, treeId);
    return await exploration.run(candidates);
  } catch (error) {
    await exploration?.reap(undefined);
    if (timer?.aborted && !signal?.aborted) throw new TimeoutError(`explore: not done within ${timeoutMs} ms`);
    throw error;
  }
}

function either(signal: AbortSignal | undefined, timer: AbortSignal | undefined): { signal?: AbortSignal } {
  const given = [signal, timer].filter((signal) => signal !== undefined);
  return given.length === 0 ? {} : { signal: AbortSignal.any(given) };
}

class Exploration {
  readonly #errors: string[] = [];
  readonly #reaped: string[] = [];
  #reapFailures: Record<string, string> = {};

  constructor(
    private readonly settings: Settings,
    private readonly children: Sandbox[],
    private readonly treeId: string,
  ) {}

  async run(candidates: Candidate[]): Promise<ExploreResult> {
    const [asked, got] = [candidates.length, this.children.length];
    if (got < asked) this.#errors.push(`requested ${asked} branches, got ${got} (host capacity); continuing on survivors`);
    const outcomes = (await this.#tryAll(candidates)).sort(this.#better);
    const viable = outcomes.filter((outcome) => outcome.ok || !this.settings.requireSuccess);
    const { select, promoteWinner, cleanupLosers } = this.settings;
    const winnerOutcome = viable.length === 0 ? undefined : typeof select === "function" ? select(viable) : viable[0];
    const winner = winnerOutcome?.sandbox;
    if (!winnerOutcome || !winner) throw noViable(outcomes, this.settings.requireSuccess);
    if (promoteWinner) await this.#promote(winner);
    if (cleanupLosers) await this.reap(winner);
    return {
      winner: promoteWinner ? winner : null,
      winnerOutcome,
      outcomes,
      treeId: this.treeId,
      reaped: this.#reaped,
      reapFailures: this.#reapFailures,
      errors: this.#errors,
    };
  }

  /** Deletes all copies but `winner`. */
  async reap(winner: Sandbox | undefined): Promise<void> {
    const losers = this.children.filter((child) => child.id !== winner?.id && !this.#reaped.includes(child.id));
    await Promise.all(losers.map((loser) => this.#kill(loser)));
  }

  async #kill(loser: Sandbox): Promise<void> {
    try {
      await loser.kill();
      this.#reaped.push(loser.id);
      delete this.#reapFailures[loser.id];
    } catch (error) {
      this.#reapFailures[loser.id] = textOf(error);
    }
  }

  async #promote(winner: Sandbox): Promise<void> {
    const { cleanupLosers: cleanupSiblings } = this.settings;
    try {
      const { deleted = [], failures = {} } = await winner.promote({
        cleanupSiblings,
        ...(this.treeId ? { treeId: this.treeId } : {}),
      });
      this.#reaped.push(...deleted);
      this.#reapFailures = { ...failures };
    } catch (error) {
      this.#errors.push(`promote failed: ${textOf(error)}`);
    }
  }

  async #tryAll(candidates: Candidate[]): Promise<BranchOutcome[]> {
    const pairs = this.children.slice(0, candidates.length).map((child, index) => [child, candidates[index]] as const);
    const outcomes: BranchOutcome[] = [];
    const waiting = pairs.values();
    // A name of its own: candidates may explore too.
    const marker = `/tmp/.pandastack-explore-${randomUUID()}`;
    const work = async () => {
      for (const [child, candidate] of waiting) {
        throwIfAborted(this.settings.signal);
        if (candidate) outcomes.push(await this.#try(child, candidate, marker));
      }
    };
    await Promise.all(Array.from({ length: Math.max(1, Math.min(this.settings.maxConcurrency, pairs.length)) }, work));
    // A candidate that was broken off looks like one that failed.
    throwIfAborted(this.settings.signal);
    return outcomes;
  }

  async #try(child: Sandbox, candidate: Candidate, marker: string): Promise<BranchOutcome> {
    const outcome = await runBranch(child, candidate, { ...this.settings, marker });
    outcome.score = candidate.score ?? (await this.#score(child, outcome));
    try {
      this.settings.onOutcome?.(outcome);
    } catch (error) {
      this.#errors.push(`onOutcome threw: ${textOf(error)}`);
    }
    return outcome;
  }

  async #score(child: Sandbox, outcome: BranchOutcome): Promise<number> {
    if (!this.settings.scoreFn) return outcome.ok ? 1 : 0;
    try {
      return await this.settings.scoreFn(child, outcome);
    } catch (error) {
      outcome.error ??= `scoreFn threw: ${textOf(error)}`;
      return 0;
    }
  }

  /** The better score comes first, then the faster one. */
  readonly #better = (a: BranchOutcome, b: BranchOutcome): number => {
    const byScore = this.settings.select === "min" ? a.score - b.score : b.score - a.score;
    return byScore || a.durationMs - b.durationMs;
  };
}

function settingsOf(options: ExploreOptions): Settings {
  return {
    select: "max",
    requireSuccess: true,
    maxConcurrency: 4,
    cleanupLosers: true,
    promoteWinner: true,
    captureFiles: true,
    ttlSeconds: 600,
    ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)),
  };
}

function tooMany(count: number): ExploreError {
  return new ExploreError(`explore: ${count} candidates exceeds the ${MAX_BRANCHES}-branch per-host limit; split into rounds`);
}

function noViable(outcomes: BranchOutcome[], requireSuccess: boolean): ExploreError {
  const ends = outcomes.map(({ label, error, exitCode }) => `${label}=${error ?? exitCode}`).join(", ");
  const what = requireSuccess ? "succeeded" : "available";
  return new ExploreError(`explore: no viable branch (${outcomes.length} ran, none ${what}); ${ends}`);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
