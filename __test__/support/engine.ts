// A local engine of its own for a test: private home and socket, the templates and the runsc of the prepared home.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { runscProcesses } from "./host.js";

const run = promisify(execFile);

/** The `pandastack` binary that the build put beside the addon. */
export const binary = new URL("../../native/pandastack", import.meta.url).pathname;

/** The home that `make setup` prepared. */
export function preparedHome(): string {
  const state = process.env.XDG_STATE_HOME || join(homedir(), ".local", "state");
  return process.env.PANDASTACK_HOME || join(state, "pandastack");
}

/** A port of this machine that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return address.port;
}

/** A running engine and the ways to hurt it. */
export class TestEngine {
  private constructor(
    /** Its `PANDASTACK_HOME`. */
    readonly home: string,
    /** Extra arguments of `pandastack serve`. */
    private readonly args: string[],
  ) {}

  private child: ChildProcess | undefined;
  private isMounted = false;

  /** Starts an engine in an empty home; with `diskMb` that lies on a disk of its own of that size, in MiB, in memory. Needs root. */
  static async start(args: string[] = [], { diskMb }: { diskMb?: number | undefined } = {}): Promise<TestEngine> {
    const home = mkdtempSync(join(tmpdir(), "pandastack-test-"));
    if (diskMb) await run("mount", ["-t", "tmpfs", "-o", `size=${diskMb}m,mode=0700`, "pandastack-test", home]);
    for (const shared of ["templates", "bin"]) {
      const source = join(preparedHome(), shared);
      if (existsSync(source)) symlinkSync(source, join(home, shared));
      else mkdirSync(join(home, shared));
    }
    const engine = new TestEngine(home, args);
    engine.isMounted = diskMb !== undefined;
    await engine.serve();
    return engine;
  }

  /** What clients use as `apiUrl`. */
  get apiUrl(): string {
    return `unix:${this.socket}`;
  }

  get socket(): string {
    return join(this.home, "engine.sock");
  }

  get log(): string {
    return join(this.home, "test-engine.log");
  }

  /** Environment in which the binary and programs find this engine. */
  get env(): NodeJS.ProcessEnv {
    const { PANDASTACK_API_KEY: _key, ...rest } = process.env;
    return { ...rest, PANDASTACK_HOME: this.home, PANDASTACK_API: this.apiUrl };
  }

  /** Starts the daemon and waits until it answers. */
  async serve(logPath = this.log): Promise<void> {
    const log = openSync(logPath, "a");
    this.child = spawn(binary, ["serve", ...this.args], { env: this.env, stdio: ["ignore", log, log] });
    for (let attempt = 0; attempt < 600; attempt++) {
      if (this.child.exitCode !== null) throw new Error(`engine ended with ${this.child.exitCode}, see ${this.log}`);
      const answers = await this.cli("engine", "status").then(
        () => true,
        () => false,
      );
      if (answers) return;
      await sleep(50);
    }
    throw new Error(`engine does not answer, see ${this.log}`);
  }

  /** Ends the daemon with a signal and waits for its end; sandboxes live on. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    const child = this.child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  /** Runs the `pandastack` binary against this engine. */
  cli(...args: string[]): Promise<{ stdout: string; stderr: string }> {
    return run(binary, args, { env: this.env, maxBuffer: 1 << 26 });
  }

  /** Ends the daemon and every sandbox, and removes the home. */
  async stop(): Promise<void> {
    await this.cli("engine", "stop", "--kill").catch(() => undefined);
    await this.kill("SIGKILL");
    // Where the daemon of a failed test could not do it.
    for (const { pid } of runscProcesses(this.home)) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has just ended.
      }
    }
    if (this.isMounted) await run("umount", ["--lazy", this.home]);
    rmSync(this.home, { recursive: true, force: true });
  }
}
