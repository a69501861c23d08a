// Writes lib/wire/*.ts from the Rust types of crates/protocol. With --check: fails if they are not up to date.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const committed = join(root, "lib/wire");
const check = process.argv.includes("--check");
const target = check ? mkdtempSync(join(tmpdir(), "pandastack-wire-")) : committed;

const args = [
  "test",
  "--quiet",
  "--locked",
  "--profile",
  "fast",
  "-p",
  "pandastack-protocol",
  "--features",
  "ts",
  "export_bindings",
];
const settings = { TS_RS_EXPORT_DIR: target, TS_RS_LARGE_INT: "number", TS_RS_IMPORT_EXTENSION: "js" };
const { status } = spawnSync("cargo", args, {
  cwd: root,
  stdio: ["ignore", "ignore", "inherit"],
  env: { ...process.env, ...settings },
});
if (status !== 0) process.exit(status ?? 1);

if (check) {
  const stale = readdirSync(target).filter((file) => read(join(target, file)) !== read(join(committed, file)));
  rmSync(target, { recursive: true });
  if (stale.length > 0) {
    console.error(`not up to date, run \`npm run build:types\`: ${stale.join(", ")}`);
    process.exit(1);
  }
}

function read(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
