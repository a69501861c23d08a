import { Sandbox } from "../sandbox.js";
import type { CreateSandbox } from "./contract.js";

/** Makes a sandbox with the SDK. */
export const createSdkSandbox: CreateSandbox = (options, client) => Sandbox.create(options, client);
