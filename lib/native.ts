/**
 * Loads the addon and finds the binary that comes with it: from `native/` of the repository, else from the package of this platform.
 *
 * @internal
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type * as Binding from "../native/binding.cjs";
import { AddonError } from "./errors.js";
import { VERSION } from "./version.js";

export type { CancelToken, NativeClient, NativeExecStream, NativeExecutionStream, NativeLineStream } from "../native/binding.cjs";

/** The classes of the addon, which is loaded when the first of them is asked for. */
export const native: Pick<typeof Binding, "CancelToken" | "NativeClient"> = {
  get CancelToken() {
    return addon().CancelToken;
  },
  get NativeClient() {
    return addon().NativeClient;
  },
};

let loaded: typeof Binding | undefined;

function addon(): typeof Binding {
  loaded ??= load();
  return loaded;
}

function load(): typeof Binding {
  const failures: unknown[] = [];
  for (const attempt of names().flatMap((name) => [() => fromRepository(name), () => fromPackage(name)])) {
    try {
      return attempt();
    } catch (error) {
      failures.push(error);
    }
  }
  throw addonError(failures);
}

/** What the addon of this platform may be called. A glibc addon does not load under musl, so that trying both finds the right one. */
function names(): string[] {
  const { platform, arch } = process;
  if (platform === "linux") return [`linux-${arch}-gnu`, `linux-${arch}-musl`];
  return [platform === "win32" ? `win32-${arch}-msvc` : `${platform}-${arch}`];
}

const packageOf = (name: string) => `@pandastack/sdk-${name}`;

function fromRepository(name: string): typeof Binding {
  return require(join(nativeFolder, `pandastack.${name}.node`));
}

function fromPackage(name: string): typeof Binding {
  const { version } = require(`${packageOf(name)}/package.json`);
  if (version !== VERSION) throw new Error(`${packageOf(name)} has version ${version}, @pandastack/sdk has ${VERSION}`);
  return require(packageOf(name));
}

/** Says what was looked for where, the true reason, and what to install. */
function addonError(failures: unknown[]): AddonError {
  const { platform, arch } = process;
  const here = `${platform}-${arch}${platform === "linux" ? ` (${libc()})` : ""} under Node.js ${process.versions.node}`;
  if (!["linux", "darwin", "win32"].includes(platform) || !["x64", "arm64"].includes(arch)) {
    return new AddonError(`no addon of @pandastack/sdk for ${here}: it is made for linux, darwin and win32 on x64 and arm64`);
  }
  const [first = "", musl = first] = names();
  const name = packageOf(libc() === "musl" ? musl : first);
  const cause = failures.find((error) => !isMissing(error));
  const reason = cause === undefined ? `\`${name}\` is not installed` : deepest(cause);
  const advice = `npm install ${name}@${VERSION}`;
  const message = `no addon of @pandastack/sdk for ${here}: ${reason}; install the package of this platform: \`${advice}\``;
  return new AddonError(message, undefined, { cause: cause ?? failures.at(-1) });
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND";
}

/** Outer messages guess; the innermost one knows. */
function deepest(error: unknown): string {
  let cause = error;
  while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause;
  return cause instanceof Error ? cause.message : String(cause);
}

/** The C library of this process; slow, so only for messages. */
function libc(): "glibc" | "musl" {
  try {
    Object.assign(process.report, { excludeNetwork: true });
    const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
    return header.glibcVersionRuntime ? "glibc" : "musl";
  } catch {
    return "glibc";
  }
}

const nativeFolder = join(__dirname, "..", "native");

/** The `pandastack` binary of this repository or of the platform's package. */
export function findBinary(): string | undefined {
  const folders = [nativeFolder, ...names().flatMap((name) => folderOf(`${packageOf(name)}/package.json`) ?? [])];
  const file = process.platform === "win32" ? "pandastack.exe" : "pandastack";
  return folders.map((folder) => join(folder, file)).find((path) => existsSync(path));
}

function folderOf(file: string): string | undefined {
  try {
    return dirname(require.resolve(file));
  } catch {
    return undefined;
  }
}
