/**
 * `client.sandboxes`.
 */
import { call } from "./call.js";
import type { CallOptions } from "./call-options.js";
import type { Client } from "./client.js";
import { callOptions, checked, checkedText, createOptions } from "./options.js";
import { Sandbox, type SandboxCreateOptions } from "./sandbox.js";
import type { CreateSandbox, Egress, SandboxLimits, VolumeAttachment } from "./wire/index.js";

/** Template that is used when none is named. */
const DEFAULT_TEMPLATE = "code-interpreter";

let warned = false;

/** Sandboxes of one client. */
export class SandboxNamespace {
  constructor(private readonly client: Client) {}

  /** See {@link Sandbox.create}. */
  async create(options?: SandboxCreateOptions): Promise<Sandbox> {
    const { signal, timeoutMs, ...rest } = checked(createOptions, options, "Sandbox.create");
    const request = requestOf(rest);
    const info = await call({ signal, timeoutMs }, (cancel) => this.client.native.createSandbox(request, cancel));
    return Sandbox.fromInfo(request.persistent ? { persistent: true, ...info } : info, this.client);
  }

  /** See {@link Sandbox.list}. */
  async list(options?: CallOptions): Promise<Sandbox[]> {
    const limits = checked(callOptions, options, "Sandbox.list");
    const infos = await call(limits, (cancel) => this.client.native.listSandboxes(cancel));
    return infos.map((info) => Sandbox.fromInfo(info, this.client));
  }

  /** See {@link Sandbox.get}. */
  async get(id: string, options?: CallOptions): Promise<Sandbox> {
    const limits = checked(callOptions, options, "Sandbox.get");
    checkedText(id, "a sandbox id");
    return Sandbox.fromInfo(await call(limits, (cancel) => this.client.native.getSandbox(id, cancel)), this.client);
  }

  /**
   * Ends a sandbox and deletes what belongs to it.
   *
   * @throws {NotFoundError} if there is none with this id.
   */
  async delete(id: string, options?: CallOptions): Promise<void> {
    const limits = checked(callOptions, options, "sandboxes.delete");
    checkedText(id, "a sandbox id");
    await call(limits, (cancel) => this.client.native.deleteSandbox(id, cancel));
  }
}

type CheckedOptions = ReturnType<ReturnType<typeof createOptions>["parse"]>;

/** Where both spellings are given they agree. */
function requestOf(options: Omit<CheckedOptions, "signal" | "timeoutMs">): CreateSandbox {
  if (!warned && (options.cpu ?? options.memoryMb ?? options.memory_mb) !== undefined) {
    warned = true;
    console.warn("@pandastack/sdk: `cpu` and `memoryMb` have no effect: the template decides");
  }
  const fromSnapshot = options.from_snapshot ?? options.fromSnapshot;
  const ttl = options.ttl_seconds ?? options.ttlSeconds;
  return {
    template: options.template ?? DEFAULT_TEMPLATE,
    ...(fromSnapshot === undefined ? {} : { from_snapshot: fromSnapshot }),
    ...(ttl === undefined ? {} : { ttl_seconds: ttl }),
    ...(options.persistent === undefined ? {} : { persistent: options.persistent }),
    ...(options.metadata === undefined ? {} : { metadata: options.metadata }),
    ...(options.egress === undefined ? {} : { egress: options.egress as Egress }),
    ...(options.secrets === undefined ? {} : { secrets: options.secrets }),
    ...(options.volumes === undefined ? {} : { volumes: options.volumes.map(attachment) }),
    ...(options.limits === undefined ? {} : { limits: limitsOf(options.limits) }),
  };
}

/** Names of limits here and on the wire. */
const LIMITS = {
  cpu: "cpu",
  memoryMb: "memory_mb",
  processes: "processes",
  diskGb: "disk_gb",
  openFiles: "open_files",
  cellSeconds: "cell_seconds",
  outputBytes: "output_bytes",
} as const satisfies Record<string, keyof SandboxLimits>;

function limitsOf(limits: NonNullable<CheckedOptions["limits"]>): SandboxLimits {
  const names = Object.keys(LIMITS) as (keyof typeof LIMITS)[];
  const given = names.flatMap((name) => (limits[name] === undefined ? [] : [[LIMITS[name], limits[name]] as const]));
  return Object.fromEntries(given);
}

function attachment(volume: NonNullable<CheckedOptions["volumes"]>[number]): VolumeAttachment {
  const readOnly = volume.read_only ?? volume.readOnly;
  return { name: volume.name, ...(readOnly === undefined ? {} : { read_only: readOnly }) };
}
