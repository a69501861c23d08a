import { Sandbox } from '../sandbox.js';
import type { SandboxLike } from './contract.js';

/** Makes a sandbox with the SDK. */
export function createSdkSandbox(options: Record<string, unknown>, signal: AbortSignal, client?: object): Promise<SandboxLike> {
  return Sandbox.create({ ...options, signal }, client);
}
