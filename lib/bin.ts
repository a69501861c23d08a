#!/usr/bin/env node
/**
 * The command `pandastack` of the npm package: starts the binary of this platform and ends as it ends.
 *
 * @internal
 */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { findBinary } from "./native.js";

const binary = findBinary();
if (binary === undefined) {
  console.error(`error: no \`pandastack\` binary for ${process.platform}-${process.arch}: it comes with the packages for Linux`);
  process.exit(1);
}

const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends these to both processes; the binary decides what follows from them.
const shared = Boolean(process.stdin.isTTY);
for (const signal of ["SIGINT", "SIGQUIT", "SIGHUP"] as const) process.on(signal, () => shared || child.kill(signal));
process.on("SIGTERM", () => child.kill("SIGTERM"));

child.on("error", (error) => {
  console.error(`error: \`${binary}\` does not start: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + (signal ? constants.signals[signal] : 0)));
