// The full leak run; prints a table and ends with 1 if something grew.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { grown, KINDS, startServer, work } from "./leak.mjs";

const flood = fileURLToPath(new URL("flood.mjs", import.meta.url));
const number = (value) => value.toFixed(1).padStart(8);
const server = await startServer();
let failed = false;
console.log("work        times  RSS after a fifth / at the end (MiB)   fds        threads   ");
for (const [kind, times] of Object.entries(KINDS)) {
  const outcome = await work(server.url, kind, times);
  const { before, after } = outcome;
  const more = grown(outcome);
  failed ||= more.length > 0;
  const handles = `${before.fds} / ${after.fds}   ${before.threads} / ${after.threads}`;
  console.log(
    `${kind.padEnd(10)} ${String(times).padStart(6)} ${number(before.rssMb)} / ${number(after.rssMb)}   ${handles}   ${more.join(" ")}`,
  );
}
for (const size of [16_384, 65_536]) {
  const { stdout } = await promisify(execFile)(process.execPath, [flood, server.url, "1000000000", String(size)]);
  const { beforeMb, peakMb } = JSON.parse(stdout);
  failed ||= peakMb - beforeMb >= 64;
  console.log(`1 GB in events of ${size} bytes: ${number(beforeMb)} / ${number(peakMb)} MiB at its peak`);
}
server.stop();
process.exit(failed ? 1 : 0);
