/**
 * Text for the shell of a sandbox.
 *
 * @internal
 */
import { InvalidOptionError } from "./errors.js";

/** One word, whatever it contains. */
export function quoted(word: string): string {
  if (word.includes("\0")) throw new InvalidOptionError("a command must not contain a NUL character");
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A program and its arguments as one command. */
export function joined(argv: readonly string[]): string {
  return argv.map(quoted).join(" ");
}

/** A command with its own environment and folder, for servers that take neither. */
export function wrapped(command: string, cwd: string | undefined, env: Record<string, string> | undefined): string {
  const steps: string[] = [];
  if (cwd) steps.push(`cd -- ${quoted(cwd)} || exit 1`);
  for (const [name, value] of Object.entries(env ?? {})) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      throw new InvalidOptionError(`not a name of an environment variable: \`${name}\``);
    steps.push(`export ${name}=${quoted(value)}`);
  }
  return [...steps, command].join("\n");
}
