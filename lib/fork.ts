/**
 * Copies of a running sandbox.
 */
import { objectOf, pathOf, patient } from "./answer.js";
import type { CallOptions } from "./call-options.js";
import type { Client } from "./client.js";
import { NetworkError, ServerError } from "./errors.js";
import { forkOptions, forkTreeOptions, promoteOptions } from "./namespace-options.js";
import { checked } from "./options.js";
import type { SandboxInfo } from "./sandbox-info.js";

/** Options of {@link Sandbox.fork}. */
export interface SandboxForkOptions extends CallOptions {
  /** Labels of the copy. */
  metadata?: Record<string, string>;
}

/** Options of {@link Sandbox.forkTree}. */
export interface SandboxForkTreeOptions extends SandboxForkOptions {
  /** How many copies, 1 to 16. */
  count: number;
}

/** Options of {@link Sandbox.promote}. */
export interface SandboxPromoteOptions extends CallOptions {
  /** True: the other copies are deleted. Default false. */
  cleanupSiblings?: boolean;
  /** Which copies belong together; servers of old need it for `cleanupSiblings`. */
  treeId?: string;
}

/** What {@link Sandbox.promote} did. */
export interface PromoteResult {
  /** Id of the sandbox that is kept. */
  winner: string;
  /** Which copies belong together. */
  tree_id?: string;
  /** Ids of copies that were deleted. */
  deleted?: string[];
  /** Copies that could not be deleted, and why. */
  failures?: Record<string, string>;
}

/** How long copies may take, in milliseconds: memory is written to disk first. */
const FORK_LIMIT = 180_000;

type Child = string | (Partial<SandboxInfo> & { id: string });

/** @internal Makes one copy. */
export async function fork(client: Client, parent: SandboxInfo, options?: SandboxForkOptions): Promise<SandboxInfo> {
  const { metadata, ...limits } = checked(forkOptions, options, "fork");
  const request = { ...limitsOf(client, limits), ...(metadata ? { json: { metadata } } : {}) };
  const answer = objectOf<Record<string, unknown>>(await client.request("POST", pathOf("sandboxes", parent.id, "fork"), request));
  const children = answer.children as Child[] | null | undefined;
  const child = (answer.sandbox as Child | undefined) ?? (children === undefined ? (answer as unknown as Child) : children?.[0]);
  return childInfo(child, parent, metadata, answer);
}

/** @internal Makes several copies; fewer than asked for where the server has no room for all. */
export async function forkTree(
  client: Client,
  parent: SandboxInfo,
  options: SandboxForkTreeOptions,
): Promise<{ children: SandboxInfo[]; treeId: string }> {
  const { count, metadata, ...limits } = checked(forkTreeOptions, options, "forkTree");
  const request = { ...limitsOf(client, limits), json: { count, ...(metadata ? { metadata } : {}) } };
  const answer = objectOf<unknown>(await client.request("POST", pathOf("sandboxes", parent.id, "fork-tree"), request));
  const fields = answer as { children?: Child[]; items?: Child[]; sandboxes?: Child[]; tree_id?: string };
  const list = Array.isArray(answer) ? (answer as Child[]) : (fields.children ?? fields.items ?? fields.sandboxes ?? []);
  if (list.length === 0) throw noChildren(answer);
  const children = list.map((child) => childInfo(child, parent, metadata, answer));
  const labelled = children.map(({ metadata }) => metadata?.fork_tree_id ?? metadata?.tree_id).find(Boolean);
  return { children, treeId: labelled ?? (Array.isArray(answer) ? "" : (fields.tree_id ?? "")) };
}

/** @internal Makes a copy independent. */
export async function promote(client: Client, sandbox: string, options?: SandboxPromoteOptions): Promise<PromoteResult> {
  const { cleanupSiblings = false, treeId, ...limits } = checked(promoteOptions, options, "promote");
  const json = { cleanup_siblings: cleanupSiblings, ...(treeId === undefined ? {} : { tree_id: treeId }) };
  const request = { ...present(limits), json };
  const result = objectOf<PromoteResult>(await client.request("POST", pathOf("sandboxes", sandbox, "promote"), request));
  return { ...result, deleted: result.deleted ?? [], failures: result.failures ?? {} };
}

function limitsOf(client: Client, limits: Limits): CallOptions {
  return patient(client, present(limits), FORK_LIMIT) as CallOptions;
}

interface Limits {
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
}

function present({ signal, timeoutMs }: Limits): CallOptions {
  return { ...(signal ? { signal } : {}), ...(timeoutMs === undefined ? {} : { timeoutMs }) };
}

/** What is known about a copy: nothing that is only true of its parent, such as an address. */
function childInfo(
  child: Child | undefined,
  { template, cpu, memory_mb }: SandboxInfo,
  metadata: Record<string, string> | undefined,
  answer: unknown,
): SandboxInfo {
  const fields = typeof child === "string" ? { id: child } : child;
  if (!fields) throw noChildren(answer);
  if (typeof fields.id !== "string" || !fields.id) throw new NetworkError("the server's answer names no sandbox");
  const labels = metadata ? { metadata } : {};
  return { template, cpu, memory_mb, ...labels, ...fields, status: fields.status ?? "running" };
}

function noChildren(answer: unknown): ServerError {
  const { errors } = answer as { errors?: { err?: string }[] };
  const reasons = Array.isArray(errors) ? errors.map(({ err }) => String(err)).join("; ") : "";
  return new ServerError(`the sandbox could not be forked${reasons ? `: ${reasons}` : ""}`);
}
