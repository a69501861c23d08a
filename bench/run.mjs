// Prints what is promised as fast: medians and spreads, never asserted anywhere.
// Usage: node bench/run.mjs [engine] [state] [client]; default: all.
import { availableParallelism, cpus, loadavg } from "node:os";
import { clientRows } from "./client.mjs";
import { engineRows } from "./engine.mjs";
import { missing, printTable } from "./measure.mjs";
import { stateRows } from "./state.mjs";

const parts = { engine: engineRows, state: stateRows, client: clientRows };
const chosen = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(parts);
const unknown = chosen.filter((name) => !(name in parts));
if (unknown.length > 0) {
  console.error(`error: no such part: \`${unknown.join(" ")}\`; there are: ${Object.keys(parts).join(", ")}`);
  process.exit(1);
}

console.log(
  `Node.js ${process.version}, ${availableParallelism()} CPUs (${cpus()[0]?.model.trim()}), load ${loadavg()[0].toFixed(1)}\n`,
);
const rows = [];
for (const name of chosen) {
  try {
    rows.push(...(await parts[name]()));
  } catch (error) {
    process.exitCode = 1;
    console.error(`error: ${name}: ${error.message}`);
    rows.push(missing(name, "", "could not be measured"));
  }
}
printTable(rows);
