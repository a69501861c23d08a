/**
 * `sandbox.commands`.
 */
import type { Client } from "./client.js";
import { type Command, type ExecOptions, type ExecResult, exec, isStreamed, type StartOptions, start } from "./exec.js";
import type { RunningCommand } from "./running-command.js";

/** Commands of one sandbox. */
export class CommandsNamespace {
  constructor(
    private readonly client: Client,
    private readonly sandbox: string,
  ) {}

  /** Starts a command and returns at once; the same as {@link CommandsNamespace.start}. */
  async run(command: Command, options: StartOptions & { stream: true }): Promise<RunningCommand>;
  /** Runs a command and waits for its end; the same as {@link Sandbox.exec}. */
  async run(command: Command, options?: ExecOptions): Promise<ExecResult>;
  async run(command: Command, options?: ExecOptions | (StartOptions & { stream: true })): Promise<ExecResult | RunningCommand> {
    return isStreamed(options) ? this.start(command, options) : exec(this.client, this.sandbox, command, options);
  }

  /**
   * Starts a command and returns at once.
   *
   * @example
   * ```ts
   * const command = await sandbox.commands.start("make test", { timeoutSeconds: 600 });
   * for await (const event of command) if (event.type !== "exit") process.stdout.write(event.bytes);
   * const { exitCode } = await command.wait();
   * ```
   * @throws {NotFoundError} for a sandbox that is gone.
   */
  async start(command: Command, options?: StartOptions): Promise<RunningCommand> {
    return start(this.client, this.sandbox, command, options);
  }
}
