/**
 * Commands.
 */
import { call } from "./call.js";
import type { CallControl } from "./call-options.js";
import type { Client } from "./client.js";
import { CommandError, InvalidOptionError, PandaStackError, SandboxTimeout } from "./errors.js";
import { checked, checkedText, execOptions, execStreamOptions, startOptions } from "./options.js";
import { OutputBuffer } from "./output.js";
import { RunningCommand, type RunningSettings } from "./running-command.js";
import { joined, wrapped } from "./shell.js";
import { eachEvent } from "./stream.js";
import type { ExecEvent, ExecRequest, WireExecResult } from "./wire/index.js";

/** A shell command, or a program and its arguments without a shell. */
export type Command = string | readonly string[];

/** What commands have in common. */
export interface CommandOptions {
  /**
   * Time limit in seconds, at most 28 800; the command and all that it started are killed then. Default: the server's. It is the server
   * that keeps it, so the call waits up to 10 s longer for the server's word.
   */
  timeoutSeconds?: number;
  /** Environment for this command only, added to the sandbox's. */
  env?: Record<string, string>;
  /** Working directory, an absolute path. */
  cwd?: string;
  /** User in the sandbox; local engine only. */
  user?: string;
  /** Most bytes of each of stdout and stderr to keep: head and tail; the result has `truncated: true` then. */
  maxOutputBytes?: number;
  /** Aborts the call, which ends the command. */
  signal?: AbortSignal;
  /**
   * Time limit of the call in milliseconds: the connection is closed then, which ends the command on the local engine. Default: the
   * client's for calls that wait for the whole answer, none for streams.
   */
  timeoutMs?: number;
}

/** Options of {@link Sandbox.exec}. */
export interface ExecOptions extends CommandOptions {
  /** True: reject with a {@link CommandError} if the exit code is not 0. Default false. */
  check?: boolean;
  /** True: return a {@link RunningCommand} at once, as {@link CommandsNamespace.start} does. Default false. */
  stream?: false;
}

/** What is called with the output of a command. Each call is awaited before the next; one that throws ends the command. */
export interface OutputCallbacks {
  /**
   * A piece of standard output, not cut inside a character, not aligned to lines. Bytes that are not UTF-8 come as U+FFFD; the events of a
   * {@link RunningCommand} have them as they are.
   */
  onStdout?: (text: string) => unknown;
  /** A piece of standard error. */
  onStderr?: (text: string) => unknown;
}

/** Options of {@link Sandbox.execStream}. `maxOutputBytes` limits what an error keeps of the output. */
export interface ExecStreamCallbacks extends CommandOptions, OutputCallbacks {
  /** True: reject with a {@link CommandError} if the exit code is not 0, after the last callback. Default false. */
  check?: boolean;
}

/** Options of {@link CommandsNamespace.start}. With callbacks the output is read at once, and the events cannot be read besides. */
export interface StartOptions extends CommandOptions, OutputCallbacks {}

/** How a command ended. */
export interface ExecResult {
  /** Standard output. */
  stdout: string;
  /** Standard error. */
  stderr: string;
  /** Exit code; 128 + N after signal N. */
  exit_code: number;
  /** The same number. */
  exitCode: number;
  /** Wall-clock time in milliseconds, where the server tells. */
  duration_ms?: number;
  /** True if the server kept only head and tail of the output. */
  truncated?: boolean;
}

/** Most characters of a command in a message. */
const MAX_COMMAND_IN_MESSAGE = 120;

/** @internal True if a handle is asked for instead of a result. */
export function isStreamed(options: object | undefined): options is StartOptions & { stream: true } {
  return options !== undefined && options !== null && "stream" in options && options.stream === true;
}

/** @internal Runs a command and waits for its end. */
export async function exec(client: Client, sandbox: string, command: Command, options?: ExecOptions): Promise<ExecResult> {
  const { signal, timeoutMs, check, maxOutputBytes, stream: _, ...rest } = checked(execOptions, options, "exec");
  const request = requestOf(client, command, rest);
  const limits = { signal, timeoutMs };
  const result =
    maxOutputBytes === undefined
      ? withBothNames(await call(limits, (cancel) => client.native.exec(sandbox, request, cancel)))
      : // Only of a stream one can keep a part without having had the whole.
        await (await started(client, sandbox, request, { ...limits, maxOutputBytes })).wait();
  if (check && result.exitCode !== 0) throw failure(command, result);
  return result;
}

/** @internal Runs a command with callbacks; resolves to its exit code. */
export async function execStream(
  client: Client,
  sandbox: string,
  command: Command,
  options?: ExecStreamCallbacks,
): Promise<number> {
  const { signal, timeoutMs, check, maxOutputBytes, ...rest } = checked(execStreamOptions, options, "execStream");
  const { onStdout, onStderr } = rest as OutputCallbacks;
  const request = requestOf(client, command, rest);
  const stdout = new OutputBuffer(maxOutputBytes);
  const stderr = new OutputBuffer(maxOutputBytes);
  let exitCode: number | undefined;
  const take = (event: ExecEvent): unknown => {
    if (event.type === "exit") {
      exitCode = event.exit_code;
      return undefined;
    }
    const [buffer, callback] = event.type === "stdout" ? [stdout, onStdout] : [stderr, onStderr];
    buffer.push(event.text);
    return callback?.(event.text);
  };
  try {
    const stream = await call({ signal, timeoutMs }, (cancel) => client.native.execStream(sandbox, request, cancel));
    await eachEvent(stream, signal, take);
  } catch (error) {
    throw withOutput(error, stdout.toString(), stderr.toString());
  }
  if (exitCode === undefined) throw new PandaStackError("the stream ended without an exit code");
  if (check && exitCode !== 0) throw failure(command, { exitCode, stdout: stdout.toString(), stderr: stderr.toString() });
  return exitCode;
}

/** @internal Starts a command without waiting for its end. */
export async function start(client: Client, sandbox: string, command: Command, options?: StartOptions): Promise<RunningCommand> {
  const { signal, timeoutMs, maxOutputBytes, stream: _, ...rest } = checked(startOptions, options, "commands.start");
  const { onStdout, onStderr } = rest as OutputCallbacks;
  const settings = { signal, timeoutMs, maxOutputBytes, onStdout, onStderr };
  return started(client, sandbox, requestOf(client, command, rest), settings);
}

async function started(
  client: Client,
  sandbox: string,
  request: ExecRequest,
  { signal, timeoutMs, ...settings }: CallControl & RunningSettings,
): Promise<RunningCommand> {
  const stream = await call({ signal, timeoutMs }, (cancel) => client.native.execStream(sandbox, request, cancel));
  return new RunningCommand(stream, { signal, ...settings });
}

/** @internal Adds the name that 0.9.0 gave to the exit code. */
export function withBothNames(result: WireExecResult): ExecResult {
  return { ...result, exitCode: result.exit_code };
}

function withOutput(error: unknown, stdout: string, stderr: string): unknown {
  if (error instanceof PandaStackError) {
    error.stdout ??= stdout;
    error.stderr ??= stderr;
    if (error instanceof SandboxTimeout && error.stdout === "") error.stdout = stdout;
  }
  return error;
}

function failure(command: Command, result: Pick<ExecResult, "exitCode" | "stdout" | "stderr">): CommandError {
  const text = shortened(typeof command === "string" ? command : joined(command));
  return new CommandError(`command exited with code ${result.exitCode}: ${text}`, result.exitCode, result.stdout, result.stderr);
}

/** Messages end up in logs: the head of a command tells which one it was. */
function shortened(command: string): string {
  const characters = [...command.slice(0, 2 * MAX_COMMAND_IN_MESSAGE)];
  const head = characters.slice(0, MAX_COMMAND_IN_MESSAGE).join("");
  return head.length === command.length ? command : `${head}…`;
}

function requestOf(client: Client, command: Command, options: Record<string, unknown>): ExecRequest {
  const {
    timeoutSeconds,
    timeout_seconds = timeoutSeconds,
    env,
    cwd,
    user,
  } = options as ExecOptions & { timeout_seconds?: number };
  const request: ExecRequest = {};
  if (timeout_seconds !== undefined) request.timeout_seconds = timeout_seconds;
  if (client.isLocal) {
    if (typeof command === "string") request.cmd = checkedCommand(command);
    else request.argv = checkedArgv(command);
    return Object.assign(request, env && { env }, cwd && { cwd }, user && { user });
  }
  if (user) throw new InvalidOptionError("exec: option `user` needs the local engine");
  request.cmd = wrapped(typeof command === "string" ? checkedCommand(command) : joined(checkedArgv(command)), cwd, env);
  return request;
}

function checkedCommand(command: string): string {
  if (checkedText(command, "a command").includes("\0")) {
    throw new InvalidOptionError("a command must not contain a NUL character");
  }
  return command;
}

function checkedArgv(argv: unknown): string[] {
  const isList = Array.isArray(argv) && argv.length > 0 && argv.every((word) => typeof word === "string" && !word.includes("\0"));
  if (!isList) throw new InvalidOptionError("a command must be a string or a list of at least one string without NUL characters");
  return argv;
}
