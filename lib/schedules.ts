/**
 * `client.schedules`.
 */
import { ask, control, listOf, pathOf } from "./answer.js";
import type { CallOptions } from "./call-options.js";
import type { Client } from "./client.js";
import type { FunctionRun } from "./function.js";
import { scheduleCreateOptions, scheduleRequest, scheduleUpdateOptions } from "./namespace-options.js";
import { checked } from "./options.js";

/** A function that runs at set times. */
export interface ScheduleInfo {
  /** UUID. */
  id: string;
  /** Workspace that owns it. */
  workspace: string;
  /** Name. */
  name: string;
  /** Function that runs. */
  function_id: string;
  /** When: five fields. */
  cron: string;
  /** True: it does not run. */
  paused: boolean;
  /** RFC 3339. */
  last_run_at?: string | null;
  /** RFC 3339. */
  next_run_at?: string | null;
  /** RFC 3339. */
  created_at: string;
  /** RFC 3339. */
  updated_at: string;
}

/** Options of {@link SchedulesAPI.create}. */
export interface ScheduleCreateOptions {
  /** True: it does not run yet. Default false. */
  paused?: boolean;
}

/** A schedule to make, in one object. */
export interface ScheduleRequest extends ScheduleCreateOptions {
  /** Name. */
  name: string;
  /** Function that runs. */
  function_id: string;
  /** When: five fields. */
  cron: string;
}

/** What {@link SchedulesAPI.update} changes. */
export interface ScheduleUpdateOptions {
  /** When: five fields. */
  cron?: string;
  /** True: it does not run. */
  paused?: boolean;
}

/** Schedules of one workspace. */
export class SchedulesAPI {
  constructor(private readonly client: Client) {}

  /** Makes a schedule. */
  async create(
    name: string,
    functionId: string,
    cron: string,
    options?: ScheduleCreateOptions,
    call?: CallOptions,
  ): Promise<ScheduleInfo>;
  /** Makes a schedule from one object. */
  async create(request: ScheduleRequest, call?: CallOptions): Promise<ScheduleInfo>;
  async create(first: string | ScheduleRequest, ...rest: unknown[]): Promise<ScheduleInfo> {
    const [call, given] = typeof first === "string" ? [rest[3], named(first, rest)] : [rest[0], first];
    const request = checked(scheduleRequest, given, "schedules.create");
    const json = { ...request, paused: request.paused ?? false };
    return ask(this.client, "POST", "schedules", { ...control(call, "schedules.create"), json });
  }

  /** All schedules. */
  async list(options?: CallOptions): Promise<ScheduleInfo[]> {
    return listOf(await this.client.request("GET", "schedules", control(options, "schedules.list")), "items", "schedules");
  }

  /**
   * One schedule.
   *
   * @throws {NotFoundError} if there is none with this id.
   */
  async get(id: string, options?: CallOptions): Promise<ScheduleInfo> {
    return ask(this.client, "GET", pathOf("schedules", id), control(options, "schedules.get"));
  }

  /** Changes a schedule. */
  async update(id: string, options: ScheduleUpdateOptions = {}, call?: CallOptions): Promise<ScheduleInfo> {
    const json = checked(scheduleUpdateOptions, options, "schedules.update");
    return ask(this.client, "PATCH", pathOf("schedules", id), { ...control(call, "schedules.update"), json });
  }

  /** Deletes a schedule. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.client.request("DELETE", pathOf("schedules", id), { ...control(options, "schedules.delete"), parseAs: "none" });
  }

  /** Runs the schedule's function now and waits for its end, at most 330 seconds. */
  async trigger(id: string, options?: CallOptions): Promise<FunctionRun> {
    const request = { timeoutMs: Math.max(this.client.timeoutMs, 330_000), ...control(options, "schedules.trigger"), json: {} };
    return ask(this.client, "POST", pathOf("schedules", id, "trigger"), request);
  }

  /** Past runs, newest first. */
  async runs(id: string, options?: CallOptions): Promise<FunctionRun[]> {
    const answer = await this.client.request("GET", pathOf("schedules", id, "runs"), control(options, "schedules.runs"));
    return listOf(answer, "items", "runs");
  }

  /** The same as {@link SchedulesAPI.runs}. */
  async listRuns(id: string, options?: CallOptions): Promise<FunctionRun[]> {
    return this.runs(id, options);
  }
}

function named(name: string, [functionId, cron, options]: unknown[]): unknown {
  const { paused } = checked(scheduleCreateOptions, options, "schedules.create");
  return { name, function_id: functionId ?? "", cron: cron ?? "", ...(paused === undefined ? {} : { paused }) };
}
