/**
 * `client.databases`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { ask, control, listOf, pathOf, patient } from "./answer.js";
import { aborted } from "./call.js";
import type { CallOptions } from "./call-options.js";
import type { Client } from "./client.js";
import type { DatabaseCloneOptions, DatabaseCreateOptions, DatabaseInfo } from "./database.js";
import { ServerError, TimeoutError } from "./errors.js";
import { databaseCloneOptions, databaseCreateOptions, databaseUpdateOptions, waitOptions } from "./namespace-options.js";
import { checked } from "./options.js";
import type { RequestOptions } from "./request.js";

/** How long a create is waited for, in milliseconds: some servers answer only once the database is there. */
const CREATE_LIMIT = 240_000;

/** PostgreSQL databases of one workspace. */
export class DatabasesAPI {
  constructor(private readonly client: Client) {}

  /**
   * Makes a database and waits until it can be used, at most 180 seconds.
   *
   * @throws {ServerError} if it fails, {@link TimeoutError} if it takes too long.
   */
  async create(options: DatabaseCreateOptions = {}, call?: CallOptions): Promise<DatabaseInfo> {
    const json = checked(databaseCreateOptions, options, "databases.create");
    const request = control(call, "databases.create");
    const created: DatabaseInfo = await ask(this.client, "POST", "databases", {
      ...patient(this.client, request, CREATE_LIMIT),
      json,
    });
    return created.id ? this.#ready(created.id, request.timeoutMs ?? 180_000, request) : created;
  }

  /**
   * Waits until a database can be used.
   *
   * @param timeoutMs - How long, in milliseconds. Default 180 000.
   * @throws {ServerError} if it failed, {@link TimeoutError} if it takes too long.
   */
  async waitUntilReady(id: string, timeoutMs = 180_000, options?: CallOptions): Promise<DatabaseInfo> {
    return this.#ready(id, timeoutMs, control(options, "databases.waitUntilReady"));
  }

  /** All databases, without their passwords. */
  async list(options?: CallOptions): Promise<DatabaseInfo[]> {
    return listOf(await this.client.request("GET", "databases", control(options, "databases.list")), "items", "databases");
  }

  /**
   * One database, with what is needed to connect.
   *
   * @throws {NotFoundError} if there is none with this id.
   */
  async get(id: string, options?: CallOptions): Promise<DatabaseInfo> {
    return ask(this.client, "GET", pathOf("databases", id), control(options, "databases.get"));
  }

  /** Deletes a database and all in it. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.client.request("DELETE", pathOf("databases", id), { ...control(options, "databases.delete"), parseAs: "none" });
  }

  /** Only what is needed to connect. */
  async connection(
    id: string,
    options?: CallOptions,
  ): Promise<{
    /** For clients of the database, with its password. */
    connection_url: string;
    /** Of the broker in front of it. */
    broker_url: string;
    /** The broker's key. */
    broker_token?: string;
  }> {
    return ask(this.client, "GET", pathOf("databases", id, "connection"), control(options, "databases.connection"));
  }

  /** Restores a failed database elsewhere from its backups; takes minutes. */
  async failover(id: string, options?: CallOptions): Promise<DatabaseInfo> {
    const request = patient(this.client, control(options, "databases.failover"), 300_000);
    return ask(this.client, "POST", pathOf("databases", id, "failover"), request);
  }

  /** Wakes a sleeping database without waiting for it; see {@link DatabasesAPI.waitUntilReady}. */
  async wake(
    id: string,
    options?: CallOptions,
  ): Promise<{
    /** The database. */
    id: string;
    /** Its state now. */
    status: string;
    /** More about it. */
    detail?: string;
  }> {
    return ask(this.client, "POST", pathOf("databases", id, "wake"), control(options, "databases.wake"));
  }

  /** Sets whether a database may sleep when nobody uses it. */
  async update(id: string, patch: { always_on?: boolean }, call?: CallOptions): Promise<DatabaseInfo> {
    const json = checked(databaseUpdateOptions, patch, "databases.update");
    return ask(this.client, "PATCH", pathOf("databases", id), { ...control(call, "databases.update"), json });
  }

  /**
   * Makes a new database from the backups of this one and waits until it can be used.
   *
   * @param waiting - `wait: false` returns at once; `timeoutMs` is how long to wait, default 600 000.
   */
  async clone(
    id: string,
    options: DatabaseCloneOptions = {},
    waiting: { wait?: boolean; timeoutMs?: number } & CallOptions = {},
  ): Promise<DatabaseInfo> {
    const json = checked(databaseCloneOptions, options, "databases.clone");
    const { wait = true, timeoutMs = 600_000, signal } = checked(waitOptions, waiting, "databases.clone");
    const request = { ...(signal ? { signal } : {}), timeoutMs: Math.min(this.client.timeoutMs, timeoutMs) };
    const created: DatabaseInfo = await ask(this.client, "POST", pathOf("databases", id, "clone"), { ...request, json });
    return created.id && wait ? this.#ready(created.id, timeoutMs, request) : created;
  }

  /** Makes new credentials; whoever uses the old ones is disconnected. */
  async resetCredentials(id: string, options?: CallOptions): Promise<DatabaseInfo> {
    const request = patient(this.client, control(options, "databases.resetCredentials"), 180_000);
    const database: DatabaseInfo = await ask(this.client, "POST", pathOf("databases", id, "reset-credentials"), request);
    if (database.connection_url) return database;
    const fresh = await this.get(id, options);
    return fresh.connection_url ? fresh : database;
  }

  async #ready(id: string, timeoutMs: number, { signal }: RequestOptions): Promise<DatabaseInfo> {
    const deadline = Date.now() + timeoutMs;
    for (let delay = 1000; ; delay = Math.min(delay * 1.5, 5000)) {
      const left = Math.max(1, deadline - Date.now());
      const limits = { ...(signal ? { signal } : {}), timeoutMs: Math.min(this.client.timeoutMs, left) };
      const database = await this.get(id, limits);
      if (database.status === "running" && database.connection_url) return database;
      if (database.status === "failed" || database.status === "error") {
        throw new ServerError(`database ${id} failed to provision: ${database.error ?? database.status}`);
      }
      if (Date.now() >= deadline) {
        throw new TimeoutError(`database ${id} not ready after ${Math.round(timeoutMs / 1000)}s (status=${database.status})`);
      }
      await pause(Math.min(delay, Math.max(1, deadline - Date.now())), signal);
    }
  }
}

/** @internal Waits, unless the signal aborts it. */
export async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(milliseconds, undefined, signal ? { signal } : {});
  } catch (error) {
    throw signal?.aborted ? aborted(signal) : error;
  }
}
