/**
 * `client.volumes`.
 */
import { ask, control, listOf, pathOf } from "./answer.js";
import type { CallOptions } from "./call-options.js";
import type { Client } from "./client.js";
import { volumeOptions } from "./namespace-options.js";
import { checked } from "./options.js";

/** A volume: a disk that outlives sandboxes. */
export interface VolumeInfo {
  /** Name by which it is attached. */
  name: string;
  /** Size in MiB. */
  size_mb: number;
  /** RFC 3339. */
  created_at?: string;
}

/** Volumes of one workspace. */
export class VolumesAPI {
  constructor(private readonly client: Client) {}

  /**
   * Makes a volume of `size_mb` MiB.
   *
   * @throws {ConflictError} if the name is taken, {@link CapacityError} if the server has no room, {@link RateLimitError} over the quota.
   */
  async create(options: { name: string; size_mb: number }, call?: CallOptions): Promise<VolumeInfo> {
    const json = checked(volumeOptions, options, "volumes.create");
    return ask(this.client, "POST", "volumes", { ...control(call, "volumes.create"), json });
  }

  /** All volumes. */
  async list(options?: CallOptions): Promise<VolumeInfo[]> {
    return listOf(await this.client.request("GET", "volumes", control(options, "volumes.list")), "items", "volumes");
  }

  /**
   * One volume.
   *
   * @throws {NotFoundError} if there is none with this name.
   */
  async get(name: string, options?: CallOptions): Promise<VolumeInfo> {
    return ask(this.client, "GET", pathOf("volumes", name), control(options, "volumes.get"));
  }

  /**
   * Deletes a volume and what is on it.
   *
   * @throws {ConflictError} if a sandbox uses it.
   */
  async delete(name: string, options?: CallOptions): Promise<void> {
    await this.client.request("DELETE", pathOf("volumes", name), { ...control(options, "volumes.delete"), parseAs: "none" });
  }
}
