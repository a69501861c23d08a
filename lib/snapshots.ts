/**
 * `client.snapshots`.
 */
import { ask, control, listOf, pathOf } from "./answer.js";
import type { CallOptions } from "./call-options.js";
import type { Client } from "./client.js";
import { snapshotListOptions } from "./namespace-options.js";
import { checked } from "./options.js";

/** Memory and disk of a sandbox at one moment; see {@link Sandbox.snapshot}. */
export interface SnapshotInfo {
  /** Id; `fromSnapshot` of {@link Sandbox.create}. */
  id: string;
  /** Sandbox it was made from. */
  sandbox_id?: string;
  /** RFC 3339. */
  created_at?: string;
  /** Memory image on the server. */
  mem_path?: string;
  /** State of the machine on the server. */
  state_path?: string;
  /** Workspace that owns it. */
  workspace?: string;
  /** Template of the sandbox. */
  template?: string;
  /** Size in bytes. */
  size_bytes?: number;
}

/** Which snapshots are listed. */
export interface SnapshotListOptions extends CallOptions {
  /** Only those of this sandbox. */
  sandbox_id?: string;
}

/** Snapshots of one workspace. */
export class SnapshotsAPI {
  constructor(private readonly client: Client) {}

  /** Snapshots, newest first. */
  async list(options?: SnapshotListOptions): Promise<SnapshotInfo[]> {
    const { sandbox_id, ...call } = checked(snapshotListOptions, options, "snapshots.list");
    const query = sandbox_id ? { sandbox_id } : {};
    const answer = await this.client.request("GET", "snapshots", { ...control(call, "snapshots.list"), query });
    return listOf(answer, "snapshots", "items");
  }

  /**
   * One snapshot.
   *
   * @throws {NotFoundError} if there is none with this id.
   */
  async get(id: string, options?: CallOptions): Promise<SnapshotInfo> {
    return ask(this.client, "GET", pathOf("snapshots", id), control(options, "snapshots.get"));
  }

  /** Deletes a snapshot. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.client.request("DELETE", pathOf("snapshots", id), { ...control(options, "snapshots.delete"), parseAs: "none" });
  }
}
