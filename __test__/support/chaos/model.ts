// What must be true of sandboxes and snapshots after everything that was done to them. Where the outcome of something is not known, more than one
// thing may be true.
import type { CodeContext, Sandbox } from "@pandastack/sdk";

/** What a value may be; more than one after an operation that was cut. */
export type Possible = ReadonlySet<string>;

/** A value that is not there. */
export const ABSENT = "absent";

/** What is kept in a sandbox: a variable of its Python context, a file written through the API, one written by a command. */
export interface State {
  variable: Possible;
  written: Possible;
  echoed: Possible;
  /** The context with the variable; undefined if it is not known whether there is one. */
  contextId: string | undefined;
}

export type Kept = "variable" | "written" | "echoed";

export const freshState = (): State => ({
  variable: new Set([ABSENT]),
  written: new Set([ABSENT]),
  echoed: new Set([ABSENT]),
  contextId: undefined,
});

export interface KnownSandbox {
  sandbox: Sandbox;
  context: CodeContext | undefined;
  state: State;
  /** Undefined after a cut pause or resume. */
  isPaused: boolean | undefined;
  /** True after a cut deletion. */
  mayBeGone: boolean;
  isBusy: boolean;
  /** True for one that was hurt and failed since: nothing more is done with it. */
  isGivenUp: boolean;
  /** The fork tree that it is a child of. */
  tree: string | undefined;
}

export interface KnownSnapshot {
  state: State;
  mayBeGone: boolean;
  isBusy: boolean;
}

/** Everything that is known. */
export class Model {
  readonly sandboxes = new Map<string, KnownSandbox>();
  readonly snapshots = new Map<string, KnownSnapshot>();
  /** For each label of a cut creation or fork: what sandboxes with that label have, if there are any. */
  readonly unclearSandboxes = new Map<string, State>();
  /** What snapshots have that a cut call may have taken of a sandbox. */
  readonly unclearSnapshots: { sandboxId: string; state: State }[] = [];
  /** Sandboxes of which a process, or a command about them, was killed: they may have failed. */
  readonly hurt = new Set<string>();

  add(sandbox: Sandbox, state: State, context?: CodeContext): KnownSandbox {
    const known = {
      sandbox,
      context,
      state: { ...state },
      isPaused: false,
      mayBeGone: false,
      isBusy: false,
      isGivenUp: false,
      tree: sandbox.info.metadata?.fork_tree_id,
    };
    this.sandboxes.set(sandbox.id, known);
    return known;
  }
}
