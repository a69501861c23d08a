/**
 * `client.functions`.
 */
import { ask, control, listOf, pathOf } from "./answer.js";
import type { CallOptions } from "./call-options.js";
import type { Client } from "./client.js";
import { InvalidOptionError } from "./errors.js";
import type {
  FunctionCreateOptions,
  FunctionDeployOptions,
  FunctionInfo,
  FunctionMetrics,
  FunctionRun,
  FunctionRuntime,
  FunctionUpdateOptions,
} from "./function.js";
import { functionCreateOptions, functionRuntime, functionUpdateOptions } from "./namespace-options.js";
import { checked, checkedText } from "./options.js";

/** How long a run is waited for, in milliseconds: servers give it 5 minutes. */
const RUN_LIMIT = 330_000;

/** Functions of one workspace. */
export class FunctionsAPI {
  constructor(private readonly client: Client) {}

  /**
   * Makes a function from the code of one file.
   *
   * @throws {ConflictError} if the name is taken.
   */
  async create(
    name: string,
    runtime: FunctionRuntime,
    code: string | Buffer | Uint8Array,
    options: FunctionCreateOptions = {},
    call?: CallOptions,
  ): Promise<FunctionInfo> {
    const given = checked(functionCreateOptions, options, "functions.create");
    const json = {
      name: checkedText(name, "a function name"),
      runtime: checked(functionRuntime, runtime, "functions.create: runtime"),
      entrypoint: given.entrypoint ?? (runtime === "python" ? "handler.py" : "index.js"),
      code: base64(code),
      template: given.template ?? "code-interpreter",
      public: given.public ?? false,
      ...(given.env ? { env: given.env } : {}),
    };
    return withEndpoint(await ask(this.client, "POST", "functions", { ...control(call, "functions.create"), json }));
  }

  /** The same as {@link FunctionsAPI.create} with one object. */
  async deploy(options: FunctionDeployOptions, call?: CallOptions): Promise<FunctionInfo> {
    const { name, runtime, code, ...rest } = options;
    return this.create(name, runtime, code, rest, call);
  }

  /** All functions. */
  async list(options?: CallOptions): Promise<FunctionInfo[]> {
    const answer = await this.client.request("GET", "functions", control(options, "functions.list"));
    return listOf<FunctionInfo>(answer, "items", "functions").map(withEndpoint);
  }

  /**
   * One function.
   *
   * @throws {NotFoundError} if there is none with this id.
   */
  async get(id: string, options?: CallOptions): Promise<FunctionInfo> {
    return withEndpoint(await ask(this.client, "GET", pathOf("functions", id), control(options, "functions.get")));
  }

  /** Changes a function. */
  async update(id: string, options: FunctionUpdateOptions = {}, call?: CallOptions): Promise<FunctionInfo> {
    const json = checked(functionUpdateOptions, options, "functions.update");
    return withEndpoint(await ask(this.client, "PATCH", pathOf("functions", id), { ...control(call, "functions.update"), json }));
  }

  /** Deletes a function. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.client.request("DELETE", pathOf("functions", id), { ...control(options, "functions.delete"), parseAs: "none" });
  }

  /** The code as the server keeps it: the bytes of one file, or a tar archive with gzip. */
  async getCode(id: string, options?: CallOptions): Promise<ArrayBuffer> {
    const headers = { accept: "*/*" };
    const code = await this.client.send("GET", pathOf("functions", id, "code"), {
      ...control(options, "functions.getCode"),
      headers,
    });
    return new Uint8Array(code).buffer;
  }

  /** Runs a function and waits for its end, at most 330 seconds. */
  async invoke(id: string, input?: unknown, options?: CallOptions): Promise<FunctionRun> {
    const json = input === undefined ? {} : { input };
    const limit = { timeoutMs: Math.max(this.client.timeoutMs, RUN_LIMIT) };
    return ask(this.client, "POST", pathOf("functions", id, "invoke"), {
      ...limit,
      ...control(options, "functions.invoke"),
      json,
    });
  }

  /** The same as {@link FunctionsAPI.invoke}. */
  async trigger(id: string, input?: unknown, options?: CallOptions): Promise<FunctionRun> {
    return this.invoke(id, input, options);
  }

  /** Records a run that happened elsewhere; nothing is run. */
  async recordRun(id: string, run?: unknown, options?: CallOptions): Promise<FunctionRun> {
    const request = { ...control(options, "functions.recordRun"), json: run ?? {} };
    return ask(this.client, "POST", pathOf("functions", id, "runs"), request);
  }

  /** Past runs, newest first. */
  async runs(id: string, options?: CallOptions): Promise<FunctionRun[]> {
    const answer = await this.client.request("GET", pathOf("functions", id, "runs"), control(options, "functions.runs"));
    return listOf(answer, "items", "runs");
  }

  /** The same as {@link FunctionsAPI.runs}. */
  async listRuns(id: string, options?: CallOptions): Promise<FunctionRun[]> {
    return this.runs(id, options);
  }

  /** Replaces a function's code by a tar archive with gzip. */
  async deployBundle(id: string, bundle: Buffer | Uint8Array, entrypoint?: string, options?: CallOptions): Promise<FunctionInfo> {
    if (!(bundle instanceof Uint8Array)) throw new InvalidOptionError("functions.deployBundle: the bundle must be bytes");
    const body = new FormData();
    body.append("bundle", new Blob([new Uint8Array(bundle)], { type: "application/gzip" }), "code.tar.gz");
    if (entrypoint) body.append("entrypoint", entrypoint);
    const request = { ...control(options, "functions.deployBundle"), headers: { accept: "*/*" }, body };
    return withEndpoint(await ask(this.client, "POST", pathOf("functions", id, "deploy"), request));
  }

  /** Figures about the runs of the last `periodHours` hours. */
  async metrics(id: string, periodHours = 24, options?: CallOptions): Promise<FunctionMetrics> {
    const query = { period: periodHours };
    return ask(this.client, "GET", pathOf("functions", id, "metrics"), { ...control(options, "functions.metrics"), query });
  }
}

function withEndpoint(info: FunctionInfo): FunctionInfo {
  return info.url && !info.endpoint ? { ...info, endpoint: info.url } : info;
}

function base64(code: string | Uint8Array): string {
  if (typeof code === "string") return Buffer.from(code, "utf8").toString("base64");
  if (!(code instanceof Uint8Array)) throw new InvalidOptionError("functions.create: the code must be a string or bytes");
  return Buffer.from(code.buffer, code.byteOffset, code.byteLength).toString("base64");
}
