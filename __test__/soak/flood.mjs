// Reads one long stream and prints how much memory that took: node flood.mjs <address> <bytes> <bytes of an event>.
import * as sdk from "../../dist/index.mjs";

const [, , apiUrl, total, size] = process.argv;
const client = new sdk.Client({ apiUrl, apiKey: "pds_test" });
const sandbox = sdk.Sandbox.fromInfo({ id: "sb", template: "t", cpu: 1, memory_mb: 512, status: "running" }, client);
const peakMb = () => process.resourceUsage().maxRSS / 1024;

await sandbox.exec("x");
const before = peakMb();
let bytes = 0;
const exitCode = await sandbox.execStream(`flood ${total} ${size}`, {
  onStdout: (text) => {
    bytes += text.length;
  },
});
console.log(JSON.stringify({ exitCode, bytes, beforeMb: before, peakMb: peakMb() }));
