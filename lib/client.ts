/**
 * A connection to one server: hosted, self-hosted, or the local engine.
 */

import { AppsAPI } from "./apps.js";
import { call, translated } from "./call.js";
import type { CallOptions } from "./call-options.js";
import { DatabasesAPI } from "./databases.js";
import { environment } from "./environment.js";
import { FunctionsAPI } from "./functions.js";
import { type Logger, logged, type RetryInfo, retryListener } from "./logging.js";
import { findBinary, type NativeClient, native } from "./native.js";
import { callOptions, checked, clientOptions } from "./options.js";
import { bodyOf, decoded, type RequestOptions } from "./request.js";
import { SandboxNamespace } from "./sandboxes.js";
import { SchedulesAPI } from "./schedules.js";
import { SnapshotsAPI } from "./snapshots.js";
import { TemplateNamespace } from "./templates.js";
import { TokenNamespace } from "./tokens.js";
import { VERSION } from "./version.js";
import { VolumesAPI } from "./volumes.js";
import type { MeInfo as WireMeInfo } from "./wire/index.js";

/** Who a key belongs to, with all that the server says. */
export type MeInfo = WireMeInfo & Record<string, unknown>;

/** Which server, which key, how long. What is left out comes from the environment and `~/.config/pandastack/config.json`. */
export interface ClientConfig {
  /** `local`, `http://…`, `https://…` or `unix:/path`. Default `PANDASTACK_API`, else the hosted service. */
  apiUrl?: string | null;
  /** API key, `pds_…`. Default `PANDASTACK_API_KEY`. */
  apiKey?: string | null;
  /** Time limit of a call in milliseconds. Default 30 000. */
  timeoutMs?: number;
  /** How long a create is repeated while the server has no room, in seconds; 0: not at all. Default 60. */
  maxCreateRetrySeconds?: number;
  /** Told before a call is made again, without waiting for it. */
  onRetry?: (retry: RetryInfo) => void;
  /** Told about every call; `console` is one. Default: nobody. */
  logger?: Logger;
}

/** A connection to one server. */
export class Client {
  /** Address of the server, without trailing slashes. */
  readonly apiUrl: string;
  /** Time limit of a call in milliseconds. */
  readonly timeoutMs: number;
  /** Sandboxes. */
  readonly sandboxes: SandboxNamespace;
  /** Templates. */
  readonly templates: TemplateNamespace;
  /** API tokens. */
  readonly tokens: TokenNamespace;
  /** Functions. */
  readonly functions: FunctionsAPI;
  /** Schedules. */
  readonly schedules: SchedulesAPI;
  /** Databases. */
  readonly databases: DatabasesAPI;
  /** Apps. */
  readonly apps: AppsAPI;
  /** Volumes. */
  readonly volumes: VolumesAPI;
  /** Snapshots. */
  readonly snapshots: SnapshotsAPI;
  /** Host under which ports are served; see {@link Sandbox.previewUrl}. Default: that of `apiUrl` without a leading `api.`. */
  previewHost?: string;
  /** @internal */
  readonly native: NativeClient;

  /**
   * Nothing is sent yet.
   *
   * @throws {InvalidOptionError} for an address or a key that is none.
   */
  constructor(config: ClientConfig = {}) {
    const options = checked(clientOptions, config, "Client");
    this.native = connect(options as ClientConfig);
    this.apiUrl = this.native.apiUrl;
    this.timeoutMs = this.native.timeoutMs;
    this.sandboxes = new SandboxNamespace(this);
    this.templates = new TemplateNamespace(this);
    this.tokens = new TokenNamespace(this);
    this.functions = new FunctionsAPI(this);
    this.schedules = new SchedulesAPI(this);
    this.databases = new DatabasesAPI(this);
    this.apps = new AppsAPI(this);
    this.volumes = new VolumesAPI(this);
    this.snapshots = new SnapshotsAPI(this);
  }

  /** The API key, if there is one. Not a field: a client that is logged must not show it. */
  get apiKey(): string | undefined {
    return this.native.apiKey ?? undefined;
  }

  /** @internal True for the local engine, which takes more than the public API. */
  get isLocal(): boolean {
    return this.apiUrl === "local" || this.apiUrl.startsWith("unix:");
  }

  /** Who the key belongs to. */
  async me(options?: CallOptions): Promise<MeInfo> {
    const limits = checked(callOptions, options, "me");
    return (await call(limits, (cancel) => this.native.me(cancel))) as MeInfo;
  }

  /**
   * Any call of the API.
   *
   * @param method - HTTP method.
   * @param path - Path under `/v1`.
   * @returns The parsed answer; undefined if it is empty.
   */
  async request<T = unknown>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    return decoded(await this.send(method, path, options), options.parseAs ?? "json") as T;
  }

  /** @internal Any call; the answer's bytes. */
  async send(method: string, path: string, options: RequestOptions): Promise<Buffer> {
    const { query = {}, signal, timeoutMs } = options;
    const headers = new Headers(options.headers);
    const [body, contentType] = await bodyOf(options.json, options.body, headers);
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const raw = {
      method,
      path,
      query: given.map(([name, value]): [string, string] => [name, String(value)]),
      headers: [...headers],
    };
    return call({ signal, timeoutMs }, (cancel) => this.native.request(raw, body, contentType, cancel));
  }

  /**
   * Ends all calls and streams that are under way; they reject with an {@link AbortError}, and so do later ones. Sandboxes are not
   * touched. A client that is not closed does not keep the process alive.
   */
  close(): void {
    this.native.close();
  }

  /** The same as `close`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}

function connect({ apiUrl, apiKey, timeoutMs, maxCreateRetrySeconds, logger, onRetry }: ClientConfig): NativeClient {
  const binary = findBinary();
  const options = {
    ...(apiUrl ? { apiUrl } : {}),
    ...(apiKey ? { apiKey } : {}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(maxCreateRetrySeconds === undefined ? {} : { capacityWaitMs: Math.round(maxCreateRetrySeconds * 1000) }),
    ...(binary ? { binary } : {}),
    environment: environment(),
    userAgent: `pandastack-sdk/${VERSION}`,
  };
  try {
    return logged(native.NativeClient.connect(options, retryListener(logger, onRetry)), logger);
  } catch (error) {
    throw translated(error);
  }
}

/** @internal The client that was given, or a new one. */
export function clientOf(config: ClientConfig | Client | undefined): Client {
  return config instanceof Client ? config : new Client(config);
}
