/**
 * `sandbox.commands`.
 */
import type { Client } from "./client.js";
import { type Command, type ExecOptions, type ExecResult, exec, type StartOptions, start } from "./exec.js";
import type { RunningCommand } from "./running-command.js";

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

  /**
   * Starts a command and returns at once.
   *
   * @example
   * ```ts
   * await using command = await sandbox.commands.start("npm run dev");
   * for await (const event of command) {
   *   if (event.type === "stdout" && event.text.includes("ready")) break;
   * }
   * ```
   */
  async start(command: Command, options?: StartOptions): Promise<RunningCommand> {
    return start(this.client, this.sandbox, command, options);
  }
}
