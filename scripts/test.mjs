// Runs every check and test. Ends with what failed, by name, and one line: "N passed, N failed". Exit code 1 if anything failed or
// could not run.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { homedir } from "node:os";

const root = new URL("..", import.meta.url).pathname;
const report = `${root}node_modules/.vitest-report.json`;

/** Runs a command, passing its output on; resolves to exit code and text. */
function run(command, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"], ...options });
    let text = "";
    for (const [stream, target] of [
      [child.stdout, process.stdout],
      [child.stderr, process.stderr],
    ]) {
      stream.on("data", (data) => {
        text += data;
        target.write(data);
      });
    }
    child.on("error", (error) => resolve({ code: 127, text: String(error) }));
    child.on("close", (code) => resolve({ code: code ?? 1, text }));
  });
}

const sum = (text, pattern) => [...text.matchAll(pattern)].reduce((total, match) => total + Number(match[1]), 0);

const firstLine = (text) => text.trim().split("\n")[0].slice(0, 400);

async function lint() {
  const { code, text } = await run("scripts/lint.sh", []);
  const failures = code === 0 ? [] : [text.trim().split("\n").at(-1) ?? ""];
  return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0, failures };
}

/** The home that `make setup` prepared; without it the engine's tests on real gVisor skip themselves. */
function preparedHome() {
  return process.env.PANDASTACK_HOME || `${process.env.XDG_STATE_HOME || `${homedir()}/.local/state`}/pandastack`;
}

async function rust() {
  const env = { ...process.env, PANDASTACK_TEST_HOME: preparedHome() };
  const { code, text } = await run(
    "cargo",
    ["test", "--quiet", "--locked", "--profile", "fast", "--workspace", "--no-fail-fast"],
    { env },
  );
  return rustCounts(code, text);
}

function rustCounts(code, text) {
  const failed = sum(text, /^test result: .*? (\d+) failed;/gm);
  return {
    passed: sum(text, /^test result: .*? (\d+) passed;/gm),
    failed: code !== 0 && failed === 0 ? 1 : failed,
    skipped: sum(text, /^test result: .*? (\d+) ignored;/gm),
    failures: [...text.matchAll(/^---- (\S+) stdout ----\n+(.*)/gm)].map((match) => `${match[1]}: ${match[2]}`),
  };
}

/** The tests of the agent once more, now in gVisor: they fork and restore it, and meet what only gVisor does. */
async function guest() {
  const templates = `${preparedHome()}/templates`;
  const base = existsSync(templates) && readdirSync(templates).find((name) => name.startsWith("base-"));
  const runsc = process.env.PANDASTACK_RUNSC || `${preparedHome()}/bin/runsc`;
  if (!base || !existsSync(runsc)) {
    console.log("skipped: no prepared home");
    return { passed: 0, failed: 0, skipped: 1, failures: [] };
  }
  const env = {
    ...process.env,
    // The runtime takes no root that is behind a link.
    PANDASTACK_TEST_ROOTFS: realpathSync(`${templates}/${base}/rootfs`),
    PANDASTACK_RUNSC: runsc,
    PANDASTACK_TEST_AGENT: `${root}native/pandastack-guest`,
    PANDASTACK_TEST_KERNELS: `${root}crates/guest/tests/kernels`,
  };
  const { code, text } = await run(
    "cargo",
    ["test", "--quiet", "--locked", "--profile", "fast", "-p", "pandastack-guest", "--test", "it"],
    { env },
  );
  return rustCounts(code, text);
}

async function typescript() {
  rmSync(report, { force: true });
  const { code } = await run("npx", [
    "--no-install",
    "vitest",
    "run",
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
  ]);
  try {
    const { numPassedTests, numFailedTests, numPendingTests, testResults } = JSON.parse(readFileSync(report, "utf8"));
    const failed = code !== 0 && numFailedTests === 0 ? 1 : numFailedTests;
    return { passed: numPassedTests, failed, skipped: numPendingTests, failures: testResults.flatMap(failuresOfFile) };
  } catch (error) {
    return { passed: 0, failed: 1, skipped: 0, failures: [`no report: ${error.message}`] };
  }
}

/** What failed in one file of vitest's report: its tests, or the file itself if it could not be loaded. */
function failuresOfFile({ name, status, message, assertionResults }) {
  const file = name.replace(root, "");
  const failed = assertionResults.filter((test) => test.status === "failed");
  if (status === "failed" && failed.length === 0) return [`${file}: ${message}`];
  return failed.map((test) => `${file} > ${test.fullName}: ${test.failureMessages.join(" ")}`);
}

async function python() {
  const { code, text } = await run(".venv/bin/python", [
    "-m",
    "pytest",
    "-q",
    "--color=no",
    "-p",
    "no:cacheprovider",
    "kernels/python/tests",
    "__test__/python",
  ]);
  const last = text.trim().split("\n").at(-1) ?? "";
  const failed = sum(last, /(\d+) (?:failed|errors?)/g);
  return {
    passed: sum(last, /(\d+) passed/g),
    failed: code !== 0 && failed === 0 ? 1 : failed,
    skipped: sum(last, /(\d+) skipped/g),
    failures: [...text.matchAll(/^(?:FAILED|ERROR) (.*)/gm)].map((match) => match[1]),
  };
}

const suites = { lint, rust, guest, typescript, python };
const chosen = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(suites);
const total = { passed: 0, failed: 0 };
const lines = [];
const failures = [];
for (const name of chosen) {
  console.log(`\n== ${name}`);
  const started = Date.now();
  const counts = await suites[name]();
  for (const key of Object.keys(total)) total[key] += counts[key];
  failures.push(...counts.failures.map((failure) => `${name}: ${firstLine(failure)}`));
  const seconds = ((Date.now() - started) / 1000).toFixed(0);
  lines.push(`${name}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped in ${seconds} s`);
}
console.log(`\n${[...lines, ...failures].join("\n")}\n${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed > 0 ? 1 : 0);
