/**
 * A connection to one server: hosted, self-hosted, or the local engine.
 */
import { call, translated } from "./call.js";
import type { CallOptions } from "./call-options.js";
import { findBinary, type NativeClient, native } from "./native.js";
import { callOptions, checked, clientOptions } from "./options.js";
import { bodyOf, decoded, type RequestOptions } from "./request.js";
import { SandboxNamespace } from "./sandboxes.js";
import { TemplateNamespace } from "./templates.js";
import { TokenNamespace } from "./tokens.js";
import { VERSION } from "./version.js";
import type { MeInfo } from "./wire/index.js";

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
}

/** A connection to one server. It needs no closing and does not keep the process alive. */
export class Client {
  /** Address of the server, without trailing slashes. */
  readonly apiUrl: string;
  /** The API key, if there is one. */
  readonly apiKey: string | undefined;
  /** Time limit of a call in milliseconds. */
  readonly timeoutMs: number;
  /** Sandboxes. */
  readonly sandboxes: SandboxNamespace;
  /** Templates. */
  readonly templates: TemplateNamespace;
  /** API tokens. */
  readonly tokens: TokenNamespace;
  /** @internal */
  readonly native: NativeClient;

  /**
   * Nothing is sent yet.
   *
   * @throws {InvalidOptionError} for an address or a key that is none.
   */
  constructor(config: ClientConfig = {}) {
    const options = checked(clientOptions, config, "Client");
    this.native = connect(options);
    this.apiUrl = this.native.apiUrl;
    this.apiKey = this.native.apiKey ?? undefined;
    this.timeoutMs = this.native.timeoutMs;
    this.sandboxes = new SandboxNamespace(this);
    this.templates = new TemplateNamespace(this);
    this.tokens = new TokenNamespace(this);
  }

  /** @internal True for the local engine, which takes more than the public API. */
  get isLocal(): boolean {
    return this.apiUrl === "local" || this.apiUrl.startsWith("unix:");
  }

  /** Who the key belongs to. */
  async me(options?: CallOptions): Promise<MeInfo & Record<string, unknown>> {
    const { signal } = checked(callOptions, options, "me");
    return (await call(signal, (cancel) => this.native.me(cancel))) as MeInfo & Record<string, unknown>;
  }

  /**
   * Any call of the API.
   *
   * @param method - HTTP method.
   * @param path - Path under `/v1`.
   * @returns The parsed answer; undefined if it is empty.
   */
  async request<T = unknown>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    const { query = {}, headers = {}, timeoutMs, parseAs = "json", signal } = options;
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const [body, contentType] = bodyOf(options);
    const raw = {
      method,
      path,
      query: given.map(([name, value]): [string, string] => [name, String(value)]),
      headers: Object.entries(headers),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    };
    const answer = await call(signal, (cancel) => this.native.request(raw, body, contentType, cancel));
    return decoded(answer, parseAs) as T;
  }
}

interface CheckedConfig {
  apiUrl?: string | null | undefined;
  apiKey?: string | null | undefined;
  timeoutMs?: number | undefined;
  maxCreateRetrySeconds?: number | undefined;
}

function connect({ apiUrl, apiKey, timeoutMs, maxCreateRetrySeconds }: CheckedConfig): NativeClient {
  const binary = findBinary();
  const options = {
    ...(apiUrl ? { apiUrl } : {}),
    ...(apiKey ? { apiKey } : {}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(maxCreateRetrySeconds === undefined ? {} : { capacityWaitMs: Math.round(maxCreateRetrySeconds * 1000) }),
    ...(binary ? { binary } : {}),
    userAgent: `pandastack-sdk/${VERSION}`,
  };
  try {
    return native.NativeClient.connect(options);
  } catch (error) {
    throw translated(error);
  }
}

/** @internal The client that was given, or a new one. */
export function clientOf(config: ClientConfig | Client | undefined): Client {
  return config instanceof Client ? config : new Client(config);
}
