// The package as it is installed: unpacked from its tarballs, beside the dependencies it names.
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { inject } from "vitest";

const run = promisify(execFile);
const modules = new URL("../../node_modules", import.meta.url).pathname;

/** A folder with the package in its `node_modules`. */
export class InstalledPackage {
  readonly folder = mkdtempSync(join(tmpdir(), "pandastack-package-"));
  /** Name of this machine's platform, as in `@pandastack/sdk-<platform>`. */
  readonly platform = inject("platform");

  constructor() {
    const { main, platform } = inject("tarballs");
    unpack(main, this.main);
    unpack(platform, this.addon);
    this.link("zod");
  }

  /** Folder of the main package. */
  get main(): string {
    return join(this.folder, "node_modules/@pandastack/sdk");
  }

  /** Folder of the platform's package. */
  get addon(): string {
    return `${this.main}-${this.platform}`;
  }

  /** Adds a package of the repository. */
  link(name: string): void {
    symlinkSync(join(modules, name), join(this.folder, "node_modules", name));
  }

  /** Runs Node.js in the folder; resolves to what it printed. */
  async node(args: string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
    const { PANDASTACK_API: _api, PANDASTACK_API_KEY: _key, ...rest } = process.env;
    const { stdout } = await run(process.execPath, args, { cwd: this.folder, env: { ...rest, ...env }, timeout: 60_000 });
    return stdout.trim();
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function unpack(tarball: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  execFileSync("tar", ["-xzf", tarball, "-C", folder, "--strip-components=1"]);
}
