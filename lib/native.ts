/**
 * Loads the addon and finds the binaries that come with it.
 *
 * @internal
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type * as Binding from "../native/binding.cjs";

export type { CancelToken, NativeClient, NativeExecStream, NativeExecutionStream, NativeLineStream } from "../native/binding.cjs";

const nativeFolder = join(__dirname, "..", "native");

/** The addon of this platform. */
export const native: typeof Binding = load();

function load(): typeof Binding {
  try {
    return require("../native/binding.cjs");
  } catch (error) {
    throw new Error(
      `@pandastack/sdk has no usable addon for ${process.platform}-${process.arch}: ${deepestCause(error)}. ` +
        "Install the package again with its optional dependencies (npm install --include=optional)",
      { cause: error },
    );
  }
}

/** The loader's own message guesses; the true reason is the innermost one. */
function deepestCause(error: unknown): string {
  let cause = error;
  while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause;
  return cause instanceof Error ? cause.message : String(cause);
}

/** The `pandastack` binary of this package or of its platform package. */
export function findBinary(): string | undefined {
  const folders = [() => nativeFolder, platformPackage];
  for (const folder of folders) {
    const path = join(folder() ?? "", "pandastack");
    if (existsSync(path)) return path;
  }
  return undefined;
}

function platformPackage(): string | undefined {
  for (const libc of ["gnu", "musl"]) {
    try {
      return dirname(require.resolve(`@pandastack/sdk-${process.platform}-${process.arch}-${libc}/package.json`));
    } catch {
      // Another C library, or no package for this platform.
    }
  }
  return undefined;
}
