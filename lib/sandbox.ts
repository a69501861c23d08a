/**
 * A sandbox.
 */
import { randomUUID } from "node:crypto";
import { ask, control, listOf, pathOf, patient } from "./answer.js";
import { call } from "./call.js";
import type { CallOptions } from "./call-options.js";
import { type Client, type ClientConfig, clientOf } from "./client.js";
import { CodeContext, type CodeContextOptions } from "./code-context.js";
import { CommandsNamespace } from "./commands.js";
import { InvalidOptionError, NotFoundError, ServerError } from "./errors.js";
import {
  type Command,
  type ExecOptions,
  type ExecResult,
  type ExecStreamCallbacks,
  exec,
  execStream,
  isStreamed,
  type StartOptions,
} from "./exec.js";
import { type Candidate, type ExploreOptions, type ExploreResult, explore } from "./explore.js";
import { FilesystemNamespace } from "./filesystem.js";
import {
  fork,
  forkTree,
  type PromoteResult,
  promote,
  type SandboxForkOptions,
  type SandboxForkTreeOptions,
  type SandboxPromoteOptions,
} from "./fork.js";
import { logLines } from "./log-lines.js";
import { logsOptions } from "./namespace-options.js";
import { callOptions, checked, checkedText, codeContextOptions, egress as egressOption, eventsOptions } from "./options.js";
import { portsOf, previewUrl } from "./preview.js";
import type { RequestOptions } from "./request.js";
import type { RunningCommand } from "./running-command.js";
import type { SandboxInfo } from "./sandbox-info.js";
import { quoted } from "./shell.js";
import type { SnapshotInfo } from "./snapshots.js";
import type { CodeContextInfo, Egress, EgressInfo, LifecycleInfo, SandboxEvent, Secret } from "./wire/index.js";

/**
 * What a sandbox may use; the local engine's defaults hold for what is left out. What happens where a limit is reached is in
 * `docs/sandbox/limits.md`. Other servers ignore it: there the template decides.
 */
export interface SandboxLimitOptions {
  /** CPU time in processors, such as 0.5. Default: all of the host. */
  cpu?: number;
  /** Memory of its programs in MiB, at least 256. Default: a quarter of the host's, 1024 to 8192. */
  memoryMb?: number;
  /** Processes and threads at a time, 16 to 4096. Default 512. */
  processes?: number;
  /** What programs may write outside of `/tmp` and `/dev/shm`, in GiB, 1 to 64. Default 4; creation is some 1.5 s slower with another. */
  diskGb?: number;
  /** Open files of a process, 64 to 1048576. Default 65536. */
  openFiles?: number;
  /** Longest time of a cell in seconds, also of one that asks for more. Default: none. */
  cellSeconds?: number;
  /** Most bytes of each output stream of a cell or command; the rest is left out. Default: none. */
  outputBytes?: number;
}

/** Options of {@link Sandbox.create}. */
export interface SandboxCreateOptions {
  /** Template to make it from. Default `code-interpreter`. */
  template?: string;
  /** Has no effect, see {@link SandboxCreateOptions.limits}. @deprecated */
  cpu?: number;
  /** Has no effect, see {@link SandboxCreateOptions.limits}. @deprecated */
  memoryMb?: number;
  /** Has no effect, see {@link SandboxCreateOptions.limits}. @deprecated */
  memory_mb?: number;
  /** Snapshot to start from. */
  fromSnapshot?: string;
  /** Snapshot to start from. */
  from_snapshot?: string;
  /** Idle time after which it is deleted, in seconds. Default: the server's. */
  ttlSeconds?: number;
  /** Idle time after which it is deleted, in seconds. */
  ttl_seconds?: number;
  /** True: never deleted for idling, and kept by `await using`. Default false. */
  persistent?: boolean;
  /** Labels. */
  metadata?: Record<string, string>;
  /** Volumes to attach. */
  volumes?: {
    /** The volume. */ name: string;
    /** Default false. */ readOnly?: boolean;
    /** The same as `readOnly`. */ read_only?: boolean;
  }[];
  /** What it may use. Local engine only. */
  limits?: SandboxLimitOptions;
  /** What it may reach; see {@link Egress}. Default: what the sandbox of its snapshot could, else `"all"`, the public internet. */
  egress?: Egress;
  /**
   * Secrets that programs in it use without seeing them, by the name of an environment variable. The variable holds a placeholder; the
   * engine puts `value` in where the placeholder stands in a header of a request to one of `hosts` over HTTPS. Default: those of the
   * sandbox of its snapshot.
   *
   * @example
   * ```ts
   * await Sandbox.create({ secrets: { API_KEY: { value: "key-1", hosts: ["api.example.com"] } } });
   * ```
   */
  secrets?: Record<string, Secret>;
  /** Aborts the call; a sandbox that was on its way is deleted. */
  signal?: AbortSignal;
  /** Time limit of each try in milliseconds. Default: at least 120 000. */
  timeoutMs?: number;
}

/** Languages of {@link Sandbox.runCode}. */
export type OneShotLanguage = "python" | "shell";

/** Options of {@link Sandbox.logs}. */
export interface LogsOptions extends CallOptions {
  /** Which output. Default: both. */
  stream?: "stdout" | "stderr" | "both";
  /** True: waits for what comes. Default false. */
  follow?: boolean;
}

/** Options of {@link Sandbox.events}. */
export interface EventsOptions extends CallOptions {
  /** How many of the last events. Default 50; 0: all that are kept. */
  tail?: number;
}

/** How long memory and disk may take to be written or read, in milliseconds. */
const COPY_LIMIT = 180_000;

/** Longest code that is passed as an argument, in bytes; the kernel's limit is 128 KiB. */
const MAX_ARGUMENT = 96 * 1024;

/** A sandbox: an isolated machine with files, processes and kernels. */
export class Sandbox {
  /** Files. */
  readonly filesystem: FilesystemNamespace;
  /** Commands. */
  readonly commands: CommandsNamespace;
  #info: SandboxInfo;

  private constructor(
    info: SandboxInfo,
    private readonly client: Client,
  ) {
    this.#info = info;
    this.filesystem = new FilesystemNamespace(client, info.id);
    this.commands = new CommandsNamespace(client, info.id);
  }

  /**
   * Creates a sandbox. While the server has no room it is asked again for `maxCreateRetrySeconds`.
   *
   * @example
   * ```ts
   * await using sandbox = await Sandbox.create({ ttlSeconds: 600 });
   * const context = await sandbox.createCodeContext();
   * console.log((await context.runCode("6 * 7")).text); // 42
   * ```
   * @throws {CapacityError} if there was no room, {@link BadRequestError} or {@link NotFoundError} for an unknown template.
   */
  static async create(options?: SandboxCreateOptions, config?: ClientConfig | Client): Promise<Sandbox> {
    return clientOf(config).sandboxes.create(options);
  }

  /** All sandboxes, newest first. */
  static async list(config?: ClientConfig | Client, options?: CallOptions): Promise<Sandbox[]> {
    return clientOf(config).sandboxes.list(options);
  }

  /**
   * A sandbox that exists.
   *
   * @throws {NotFoundError} if there is none with this id.
   */
  static async get(id: string, config?: ClientConfig | Client, options?: CallOptions): Promise<Sandbox> {
    return clientOf(config).sandboxes.get(id, options);
  }

  /** A sandbox from what a server said about it; nothing is sent. */
  static fromInfo(info: SandboxInfo, client: Client): Sandbox {
    checkedText(info?.id, "a sandbox id");
    return new Sandbox(info, client);
  }

  /** What the server said last: at creation, {@link Sandbox.refresh} or a change through this object. */
  get info(): SandboxInfo {
    return this.#info;
  }

  /** Id of the sandbox, a UUID. */
  get id(): string {
    return this.#info.id;
  }

  /** Name of its template. */
  get template(): string {
    return this.#info.template;
  }

  /** Its state, as the server said last. */
  get status(): SandboxInfo["status"] {
    return this.#info.status;
  }

  /** Asks the server for {@link Sandbox.info}. */
  async refresh(options?: CallOptions): Promise<this> {
    const limits = checked(callOptions, options, "refresh");
    this.#info = await call(limits, (cancel) => this.client.native.getSandbox(this.id, cancel));
    return this;
  }

  /** Starts a command and returns at once; the same as {@link CommandsNamespace.start}. */
  async exec(command: Command, options: StartOptions & { stream: true }): Promise<RunningCommand>;
  /**
   * Runs a command and waits for its end. A code other than 0 is a result, unless `check` is set.
   *
   * @example
   * ```ts
   * const { stdout } = await sandbox.exec(["git", "log", "-1"], { cwd: "/root/repo", check: true });
   * ```
   * @throws {SandboxTimeout} with the output so far if it reached `timeoutSeconds`, {@link CommandError} for a code other than 0 with `check`.
   */
  async exec(command: Command, options?: ExecOptions): Promise<ExecResult>;
  async exec(command: Command, options?: ExecOptions | (StartOptions & { stream: true })): Promise<ExecResult | RunningCommand> {
    return isStreamed(options) ? this.commands.start(command, options) : exec(this.client, this.id, command, options);
  }

  /**
   * Runs a command and calls back with its output as it comes.
   *
   * @example
   * ```ts
   * const code = await sandbox.execStream("pip install polars", { onStdout: (text) => process.stdout.write(text) });
   * ```
   * @returns The exit code.
   * @throws {InterruptedError} with the output so far if the stream was cut, {@link CommandError} for a code other than 0 with `check`.
   */
  async execStream(command: Command, options?: ExecStreamCallbacks): Promise<number> {
    return execStream(this.client, this.id, command, options);
  }

  /**
   * Runs code once, in a process of its own: no state is kept between calls. For a kernel that keeps state see
   * {@link Sandbox.createCodeContext}.
   *
   * @param language - `shell` (default, as in 0.9.0) or `python`.
   */
  async runCode(code: string, language: OneShotLanguage = "shell", options?: ExecOptions): Promise<ExecResult> {
    checkedText(code, "code");
    if (language !== "python") return this.exec(code, options);
    if (Buffer.byteLength(code) <= MAX_ARGUMENT && !code.includes("\0")) {
      return this.exec(`python3 -c ${quoted(code)}`, options);
    }
    const path = `/tmp/.pandastack-${randomUUID()}.py`;
    await this.filesystem.write(path, code, options?.signal && { signal: options.signal });
    return this.exec(`python3 ${path}; code=$?; rm -f ${path}; exit $code`, options);
  }

  /**
   * Creates a code context: a kernel that keeps its variables between cells.
   *
   * @param language - `python` (default), or options.
   */
  async createCodeContext(language?: string | CodeContextOptions, options?: CodeContextOptions): Promise<CodeContext> {
    const given = typeof language === "string" ? { ...options, language } : { ...language, ...options };
    const { signal, timeoutMs, ...rest } = checked(codeContextOptions, given, "createCodeContext");
    const request = { ...defined(rest), language: normalized(rest.language ?? "python") };
    const info = await call({ signal, timeoutMs }, (cancel) => this.client.native.createCodeContext(this.id, request, cancel));
    return new CodeContext(this.client, this.id, info.id, info.language || request.language);
  }

  /** The code contexts of the sandbox. */
  async listCodeContexts(options?: CallOptions): Promise<CodeContext[]> {
    const limits = checked(callOptions, options, "listCodeContexts");
    const infos = await call(limits, (cancel) => this.client.native.listCodeContexts(this.id, cancel));
    return infos.map((info: CodeContextInfo) => new CodeContext(this.client, this.id, info.id, info.language || "python"));
  }

  /** Ends the sandbox and deletes what belongs to it. No error if it is gone already. */
  async kill(options?: CallOptions): Promise<void> {
    const limits = checked(callOptions, options, "kill");
    try {
      await call(limits, (cancel) => this.client.native.deleteSandbox(this.id, cancel));
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
    this.#info = { ...this.#info, status: "deleted" };
  }

  /** Stops all its processes until {@link Sandbox.resume}; they keep their memory. */
  async pause(options?: CallOptions): Promise<void> {
    await this.#change("pause", "paused", control(options, "pause"));
  }

  /** Lets its processes run again. */
  async resume(options?: CallOptions): Promise<void> {
    await this.#change("resume", "running", control(options, "resume"));
  }

  /** Writes memory and disk away and frees what it used; the next call wakes it. */
  async hibernate(options?: CallOptions): Promise<void> {
    const request = patient(this.client, control(options, "hibernate"), COPY_LIMIT);
    await this.#change("hibernate", "hibernated", request);
  }

  /** Wakes it if it hibernates; no error if it runs already. */
  async wake(options?: CallOptions): Promise<void> {
    try {
      await this.#change("wake", "running", patient(this.client, control(options, "wake"), COPY_LIMIT));
    } catch (error) {
      if (!(error instanceof ServerError && error.message.includes("already running"))) throw error;
      this.#info = { ...this.#info, status: "running" };
    }
  }

  /** Keeps memory and disk as they are now; new sandboxes can start from it with `fromSnapshot`. */
  async snapshot(options?: CallOptions): Promise<SnapshotInfo> {
    const request = patient(this.client, control(options, "snapshot"), COPY_LIMIT);
    return ask(this.client, "POST", pathOf("sandboxes", this.id, "snapshots"), request);
  }

  /**
   * A copy of the sandbox as it is now.
   *
   * @throws {CapacityError} if there was no room for it.
   */
  async fork(options?: SandboxForkOptions): Promise<Sandbox> {
    return new Sandbox(await fork(this.client, this.#info, options), this.client);
  }

  /** Several copies of the sandbox as it is now; fewer than `count` where there is not enough room. */
  async forkTree(options: SandboxForkTreeOptions): Promise<Sandbox[]> {
    const { children } = await forkTree(this.client, this.#info, options);
    return children.map((child) => new Sandbox(child, this.client));
  }

  /** Makes a copy independent of the sandbox that it was made from. */
  async promote(options?: SandboxPromoteOptions): Promise<PromoteResult> {
    return promote(this.client, this.id, options);
  }

  /**
   * Tries each candidate in a copy of the sandbox and keeps the best copy.
   *
   * @example
   * ```ts
   * const { winner } = await sandbox.explore(["python greedy.py", "python exact.py"], {
   *   scoreFn: (_, outcome) => (outcome.stdoutTail.includes("PASS") ? 1 : 0),
   * });
   * ```
   * @throws {ExploreError} if no candidate succeeded; all copies are deleted then.
   */
  async explore(candidates: (Candidate | string)[], options?: ExploreOptions): Promise<ExploreResult> {
    return explore(candidates, options, async (count, metadata, signal) => {
      const copies = { count, metadata, ...(signal ? { signal } : {}) };
      const { children, treeId } = await forkTree(this.client, this.#info, copies);
      return { children: children.map((child) => new Sandbox(child, this.client)), treeId };
    });
  }

  /**
   * The log of the sandbox, line by line. Leaving the loop closes the connection.
   *
   * @param options - `follow: true` waits for what comes; default: what is there.
   */
  logs(options?: LogsOptions): AsyncGenerator<string, void, undefined> {
    return logLines(this.client, () => {
      const { stream, follow, ...limits } = checked(logsOptions, options, "logs");
      const query: [string, string][] = stream ? [["stream", stream]] : [];
      if (follow !== undefined) query.push(["follow", follow ? "1" : "0"]);
      const accept = follow ? "text/event-stream" : "text/plain";
      return [{ path: pathOf("sandboxes", this.id, "logs"), query, accept, endsWithDone: false }, limits];
    });
  }

  /**
   * The address under which a port is served to everybody who knows it; nothing is sent.
   *
   * @throws {RangeError} for a port that is none, {@link NotSupportedError} on the local engine.
   */
  previewUrl(port: number, scheme: "http" | "https" = "https"): string {
    return previewUrl(this.client, this.id, port, scheme);
  }

  /** The addresses of all ports that are listened on. */
  async previewUrls(options?: CallOptions): Promise<Record<number, string>> {
    const answer = await this.client.request("GET", pathOf("sandboxes", this.id, "ports"), control(options, "previewUrls"));
    const ports = portsOf(listOf(answer, "ports", "items"));
    return Object.fromEntries(ports.map((port) => [port, this.previewUrl(port)]));
  }

  /** What it may reach, and the hosts of its secrets. */
  async egress(options?: CallOptions): Promise<EgressInfo> {
    return ask(this.client, "GET", pathOf("sandboxes", this.id, "egress"), control(options, "egress"));
  }

  /**
   * Changes what it may reach. Connections that are no longer allowed are closed. Its secrets stay.
   *
   * @example
   * ```ts
   * await sandbox.setEgress({ allow: ["pypi.org:443", "*.pythonhosted.org:443"] });
   * ```
   * @throws {BadRequestError} that names an entry which makes no sense.
   */
  async setEgress(egress: Egress, options?: CallOptions): Promise<EgressInfo> {
    const json = { egress: checked(egressOption, egress, "setEgress") };
    return ask(this.client, "PUT", pathOf("sandboxes", this.id, "egress"), { ...control(options, "setEgress"), json });
  }

  /**
   * What happened to it, oldest first: its states, copies of it, and attempts to reach what it may not (`egress.denied`). The server keeps the
   * last 1000 events, for an hour after its end.
   *
   * @param options - `tail`: how many of the last ones. Default 50; 0: all.
   */
  async events(options?: EventsOptions): Promise<SandboxEvent[]> {
    const { tail, ...limits } = checked(eventsOptions, options, "events");
    const request = { ...control(limits, "events"), query: { tail } };
    return listOf(await this.client.request("GET", pathOf("sandboxes", this.id, "events"), request), "events", "items");
  }

  /** TTL, persistence and idle time. */
  async lifecycle(options?: CallOptions): Promise<LifecycleInfo> {
    const limits = checked(callOptions, options, "lifecycle");
    return call(limits, (cancel) => this.client.native.lifecycle(this.id, cancel));
  }

  /** Sets the idle time after which the sandbox is deleted, in seconds. */
  async setTtl(seconds: number, options?: CallOptions): Promise<LifecycleInfo> {
    const limits = checked(callOptions, options, "setTtl");
    if (!Number.isInteger(seconds) || seconds < 0) throw wrongTtl(seconds);
    return call(limits, (cancel) => this.client.native.updateLifecycle(this.id, { ttl_seconds: seconds }, cancel));
  }

  /** Sets whether the sandbox outlives its idle time and `await using`. */
  async setPersistent(persistent: boolean, options?: CallOptions): Promise<LifecycleInfo> {
    const limits = checked(callOptions, options, "setPersistent");
    if (typeof persistent !== "boolean") throw new InvalidOptionError("setPersistent: must be true or false");
    const lifecycle = await call(limits, (cancel) => this.client.native.updateLifecycle(this.id, { persistent }, cancel));
    this.#info = { ...this.#info, persistent };
    return lifecycle;
  }

  /** Ends the sandbox at the end of an `await using` block, unless it is persistent. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#info.persistent) await this.kill();
  }

  async #change(verb: string, status: SandboxInfo["status"], request: RequestOptions): Promise<void> {
    await this.client.request("POST", pathOf("sandboxes", this.id, verb), { ...request, parseAs: "none" });
    this.#info = { ...this.#info, status };
  }
}

function wrongTtl(seconds: unknown): InvalidOptionError {
  return new InvalidOptionError(`setTtl: must be a whole number of seconds, not negative: \`${String(seconds)}\``);
}

function normalized(language: string): string {
  return language === "py" || language === "python3" ? "python" : language;
}

function defined<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}
