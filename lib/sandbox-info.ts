/**
 * What a server says about a sandbox.
 */
import type { SandboxStatus, SandboxInfo as WireSandboxInfo } from "./wire/index.js";

/** A sandbox as a server describes it. */
export interface SandboxInfo extends Omit<WireSandboxInfo, "status"> {
  /** State at the time of the answer. Servers may know others than are listed. */
  status: SandboxStatus | (string & {});
  /** Address in the server's own network. */
  guest_ip?: string;
  /** Network device on the server. */
  host_tap?: string;
  /** Hardware address. */
  mac?: string;
  /** Number of its socket device. */
  vsock_cid?: number;
}
