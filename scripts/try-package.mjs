// Installs the package from tarballs into empty folders, as users do, and runs programs there in every runtime and bundler.
// Usage: node scripts/try-package.mjs [NAME]…   NAME: begin of a runtime's or bundler's name; default: all
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { hostBuild, pack } from "./pack.mjs";
import { bundlers } from "./try-package/bundlers.mjs";
import { serveTarballs } from "./try-package/registry.mjs";
import { run } from "./try-package/run.mjs";
import { installRuntimes, runtimes } from "./try-package/runtimes.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const fixtures = join(root, "__test__/package");
const work = mkdtempSync(join(tmpdir(), "pandastack-try-"));
const home = join(work, "home");
const chosen = process.argv.slice(2);
const wanted = (trial) => chosen.length === 0 || chosen.some((given) => trial.name.startsWith(given));

/** Only what a user has: no key, no variable of this repository, an engine of its own. */
function environment(path) {
  const kept = [
    "HOME",
    "LANG",
    "TMPDIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
  ];
  const env = Object.fromEntries(kept.filter((key) => process.env[key]).map((key) => [key, process.env[key]]));
  const npm = Object.entries(process.env).filter(([key]) => /^NODE_EXTRA_CA_CERTS$|^NPM_CONFIG_/i.test(key));
  const PATH = path ? `${path}${delimiter}${process.env.PATH}` : process.env.PATH;
  return {
    ...env,
    ...Object.fromEntries(npm),
    PATH,
    PANDASTACK_HOME: home,
    PANDASTACK_API: "local",
    NEXT_TELEMETRY_DISABLED: "1",
  };
}

/** The templates and the runsc that `make setup` prepared, and nothing else of its state. */
function prepareHome() {
  const prepared =
    process.env.PANDASTACK_HOME || join(process.env.XDG_STATE_HOME || join(homedir(), ".local/state"), "pandastack");
  mkdirSync(home, { mode: 0o700 });
  for (const shared of ["templates", "bin"]) {
    if (existsSync(join(prepared, shared))) symlinkSync(join(prepared, shared), join(home, shared));
  }
}

/** An empty folder whose only dependency is the package. */
function emptyProject(label, npmrc, dependencies = {}) {
  const folder = join(work, label.replace(/\W+/g, "-"));
  mkdirSync(folder);
  writeFileSync(join(folder, ".npmrc"), npmrc);
  const manifest = { name: "trial", private: true, dependencies: { [name]: version, ...dependencies } };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  return folder;
}

async function tryRuntime(runtime, npmrc) {
  const cwd = emptyProject(runtime.name, npmrc);
  const env = environment(runtime.path);
  const [installer, ...installation] = runtime.install;
  await run(installer, installation, { cwd, env, seconds: 180 });
  cpSync(join(root, "examples/quickstart.mjs"), join(cwd, "examples/quickstart.mjs"));
  cpSync(join(root, "examples/data"), join(cwd, "examples/data"), { recursive: true });
  cpSync(join(fixtures, "programs"), join(cwd, "programs"), { recursive: true });
  const [command, ...args] = runtime.run;
  const shown = await run(command, [...args, "examples/quickstart.mjs"], { cwd, env });
  expect(shown.trimEnd().endsWith(join("out", "chart.png")), `the quickstart printed: ${shown}`);
  expect(readFileSync(join(cwd, "out/chart.png")).subarray(1, 4).toString() === "PNG", "out/chart.png is no PNG");
  for (const program of ["require", "worker"]) {
    const output = await run(command, [...args, `programs/${program}.cjs`], { cwd, env });
    expect(output.includes(`${program}: as it should be`), `${program}.cjs printed: ${output}`);
  }
  const binary = await run(join(cwd, "node_modules/.bin/pandastack"), ["--version"], { cwd, env });
  expect(binary.includes(version), `pandastack --version printed: ${binary}`);
}

async function tryBundler(bundler, npmrc) {
  const cwd = emptyProject(bundler.name, npmrc, bundler.dependencies);
  cpSync(join(fixtures, "bundlers", bundler.fixture), cwd, { recursive: true });
  const env = environment();
  await run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error"], { cwd, env, seconds: 300 });
  const shown = await bundler.try({ cwd, env });
  expect(shown.includes("the kernel says 42"), `the bundled program printed: ${shown}`);
}

function expect(holds, message) {
  if (!holds) throw new Error(message);
}

async function stopEngine() {
  const { [Object.keys(hostBuild())[0]]: build } = hostBuild();
  await run(join(build, "pandastack"), ["engine", "stop", "--kill"], { cwd: work, env: environment() }).catch(() => undefined);
}

async function attempt(trial, act) {
  const started = Date.now();
  const failure = await act(trial).then(
    () => undefined,
    (error) => error,
  );
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  console.log(`${failure ? "FAILED" : "passed"}  ${trial.name.padEnd(28)} ${seconds.padStart(6)} s`);
  if (failure) console.error(failure.message);
  return !failure;
}

async function main() {
  const tarballs = pack(join(work, "packages"), hostBuild());
  const registry = await serveTarballs(tarballs, name.split("/")[0]);
  let failed = 0;
  try {
    prepareHome();
    installRuntimes();
    for (const trial of runtimes().filter(wanted))
      failed += (await attempt(trial, () => tryRuntime(trial, registry.npmrc))) ? 0 : 1;
    for (const trial of bundlers.filter(wanted))
      failed += (await attempt(trial, () => tryBundler(trial, registry.npmrc))) ? 0 : 1;
  } finally {
    await stopEngine();
    await registry.close();
    if (!process.env.KEEP) rmSync(work, { recursive: true, force: true });
  }
  console.log(failed === 0 ? "everything passed" : `${failed} failed`);
  return failed === 0 ? 0 : 1;
}

process.exit(await main());
