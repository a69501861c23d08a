// Runs kinds of work many times, each in a process of its own, and tells what was held after a fifth of it and at the end.
import { fork, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const file = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Kinds of work and how often they are done in the full run. */
export const KINDS = {
  requests: 10_000,
  errors: 10_000,
  cut: 10_000,
  left: 10_000,
  aborts: 10_000,
  uploads: 10_000,
  workers: 100,
};

/** What may be held more at the end, in MiB and in handles: connections that are kept for later calls are some of them. */
export const LIMITS = { rssMb: 24, fds: 48, resources: 4, threads: 4 };

/** Starts the server; `stop` ends it. */
export async function startServer() {
  const child = fork(file("server.mjs"), { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const port = await new Promise((resolve, reject) => child.once("message", resolve).once("exit", reject));
  return { url: `http://127.0.0.1:${port}`, stop: () => child.kill() };
}

/** Does one kind of work in a process of its own. */
export function work(url, kind, times) {
  const child = spawn(process.execPath, ["--expose-gc", file("work.mjs"), url, kind, String(times)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data) => {
      output += data;
    });
  }
  return new Promise((resolve, reject) => {
    child.on("close", (code, signal) => {
      if (code === 0) resolve(JSON.parse(output));
      else reject(new Error(`${kind} ended with ${code ?? signal}: ${output}`));
    });
  });
}

/** Names of what grew beyond its limit. */
export function grown({ before, after }) {
  return Object.keys(LIMITS).filter((name) => after[name] - before[name] > LIMITS[name]);
}
