/**
 * Addresses under which ports of a sandbox are served.
 *
 * @internal
 */
import type { Client } from "./client.js";
import { NotSupportedError } from "./errors.js";

/** The address of a port; nothing is sent. */
export function previewUrl(client: Client, sandbox: string, port: number, scheme: "http" | "https"): string {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new RangeError(`port must be 1-65535, got ${port}`);
  return `${scheme}://${port}-${sandbox}.${suffix(client)}`;
}

/** The ports in any shape that servers send. */
export function portsOf(list: (number | { port: number })[]): number[] {
  return list.map((entry) => (typeof entry === "number" ? entry : entry?.port)).filter((port) => Number.isInteger(port));
}

function suffix(client: Client): string {
  if (client.previewHost) return client.previewHost.replace(/^\.+/, "");
  if (client.isLocal) throw new NotSupportedError("the local engine does not serve ports of sandboxes under addresses");
  const { hostname } = new URL(client.apiUrl);
  return hostname.startsWith("api.") ? hostname.slice("api.".length) : hostname;
}
