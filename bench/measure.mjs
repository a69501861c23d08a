import { loadavg } from "node:os";

/** Times `run` `count` times, in milliseconds; `after` is not timed. `warmUps` runs come first and do not count. */
export async function times(count, run, after = async () => {}, warmUps = 1) {
  const values = [];
  for (let index = -warmUps; index < count; index += 1) {
    const started = performance.now();
    const made = await run(index);
    if (index >= 0) values.push(performance.now() - started);
    await after(made);
  }
  return values;
}

/** CPU time of this process, all threads, that `run` takes: microseconds for each of `calls`. */
export async function cpuPerCall(calls, run) {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

/** Calls `call` `count` times, `width` at a time. */
export async function inFlight(count, width, call) {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: width }, worker));
}

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

function quantile(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

export const median = (values) => quantile(values, 0.5);

const digits = (value) => (value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0));

/** One line of the table: median, spread and number of measurements, and the load of the machine right now. */
export function row(figure, values, unit, target) {
  const spread = `${digits(quantile(values, 0.1))}–${digits(quantile(values, 0.9))}`;
  return [figure, target, `${digits(median(values))} ${unit}`, spread, String(values.length), loadavg()[0].toFixed(1)];
}

/** A line that could not be measured, and why. */
export const missing = (figure, target, reason) => [figure, target, "–", reason, "0", loadavg()[0].toFixed(1)];

export function printTable(rows) {
  const table = [["figure", "target", "median", "p10–p90", "n", "load"], ...rows];
  const widths = table[0].map((_, column) => Math.max(...table.map((line) => line[column].length)));
  const line = (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(" | ")} |`;
  console.log(line(table[0]));
  console.log(`|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`);
  for (const cells of table.slice(1)) console.log(line(cells));
}
