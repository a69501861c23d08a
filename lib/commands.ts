/**
 * `sandbox.commands`.
 */
import type { Client } from "./client.js";
import { type Command, type ExecOptions, type ExecResult, exec } from "./exec.js";

/** Commands of one sandbox. */
export class CommandsNamespace {
  constructor(
    private readonly client: Client,
    private readonly sandbox: string,
  ) {}

  /** Runs a command and waits for its end; the same as {@link Sandbox.exec}. */
  async run(command: Command, options?: ExecOptions): Promise<ExecResult> {
    return exec(this.client, this.sandbox, command, options);
  }
}
