/**
 * Changes to files that servers have no call for: done by commands in the sandbox.
 *
 * @internal
 */
import type { CallOptions } from "./call-options.js";
import type { Client } from "./client.js";
import { BadRequestError, ConflictError, NotFoundError, type PandaStackError } from "./errors.js";
import { exec } from "./exec.js";

/** Most bytes of paths in one command; the kernel's limit for one argument is 128 KiB. */
const MAX_PATHS = 64 * 1024;

/** Runs a program; what it says on standard error becomes the error. */
export async function change(client: Client, sandbox: string, argv: string[], options: CallOptions = {}): Promise<void> {
  const { exitCode, stderr } = await exec(client, sandbox, argv, options);
  if (exitCode !== 0) throw refusal(argv[0] ?? "", stderr.trim());
}

/** Prints, for each of its arguments, the directory that it leads to in the end, or nothing; each ended by NUL. */
const RESOLVE = 'for path do [ ! -d "$path" ] || readlink -zf -- "$path" || true; [ -d "$path" ] || printf "\\0"; done';

/** The directory that each path leads to in the end, without links in it; undefined where that is none. */
export async function directoriesBehind(
  client: Client,
  sandbox: string,
  paths: string[],
  options: CallOptions,
): Promise<(string | undefined)[]> {
  const found: (string | undefined)[] = [];
  for (const portion of portions(paths)) {
    const { exitCode, stdout, stderr } = await exec(client, sandbox, ["sh", "-c", RESOLVE, "sh", ...portion], options);
    const directories = stdout.split("\0").slice(0, -1);
    if (exitCode !== 0 || directories.length !== portion.length) throw refusal("readlink", stderr.trim());
    found.push(...directories.map((directory) => directory || undefined));
  }
  return found;
}

/** `paths` in as many parts as commands need. */
export function* portions(paths: string[]): Generator<string[]> {
  let portion: string[] = [];
  let bytes = 0;
  for (const path of paths) {
    const size = Buffer.byteLength(path) * 2;
    if (portion.length > 0 && bytes + size > MAX_PATHS) {
      yield portion;
      [portion, bytes] = [[], 0];
    }
    portion.push(path);
    bytes += size;
  }
  if (portion.length > 0) yield portion;
}

function refusal(program: string, stderr: string): PandaStackError {
  const message = stderr || `\`${program}\` failed`;
  if (stderr.includes("No such file or directory")) return new NotFoundError(message);
  if (stderr.includes("File exists")) return new ConflictError(message);
  return new BadRequestError(message);
}
