// Runs commands of a trial: each with a deadline, none outlives it.
import { spawn } from "node:child_process";

/**
 * Runs a command in a process group of its own.
 *
 * @returns Its output.
 * @throws With the end of its output if it fails or takes longer than `seconds`.
 */
export function run(command, args, { cwd, env, seconds = 120 }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += data));
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      endGroup(child);
    }, seconds * 1000);
    child.on("error", reject);
    // Not "close": an engine that the command started may keep its output open.
    child.on("exit", (code) => {
      clearTimeout(timer);
      setTimeout(() => {
        const what = `${[command.split("/").at(-1), ...args].join(" ")} ${late ? `took longer than ${seconds} s` : `ended with ${code}`}`;
        if (code === 0) resolve(output);
        else reject(new Error(`${what}:\n${output.slice(-4000)}`));
      }, 20);
    });
  });
}

/** Starts a server; `stop()` ends it with all it started. */
export function start(command, args, { cwd, env }) {
  const child = spawn(command, args, { cwd, env, stdio: "ignore", detached: true });
  const ended = new Promise((resolve) => child.on("exit", resolve).on("error", resolve));
  return {
    stop: () => {
      endGroup(child);
      return ended;
    },
  };
}

function endGroup(child) {
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
