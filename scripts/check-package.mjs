// Checks the packed package: publint, "are the types wrong", the files in them, and the published types under the strictest compiler.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packMain } from "./pack.mjs";
import { PLATFORMS } from "./platforms.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const work = mkdtempSync(join(tmpdir(), "pandastack-check-"));
const failed = [];

function check(name, command, args, cwd = root) {
  try {
    execFileSync(command, args, { cwd, encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    failed.push(name);
    console.error(`${name}:\n${error.stdout ?? ""}${error.stderr ?? error.message}`);
  }
}

/** A program of all entry points, compiled with the library's own declarations checked too. */
function checkTypes(tarball) {
  const folder = join(work, "types/node_modules/@pandastack/sdk");
  mkdirSync(folder, { recursive: true });
  execFileSync("tar", ["-xzf", tarball, "-C", folder, "--strip-components=1"]);
  for (const dependency of ["zod", "ai", "@types", "@ai-sdk", "@standard-schema", "json-schema"]) {
    symlinkSync(join(root, "node_modules", dependency), join(work, "types/node_modules", dependency));
  }
  const imports = ["@pandastack/sdk", "@pandastack/sdk/ai"].map((name, index) => `export * as part${index} from "${name}";\n`);
  writeFileSync(join(work, "types/program.mts"), imports.join(""));
  writeFileSync(join(work, "types/program.cts"), imports.join(""));
  const lib = ["--target", "es2022", "--lib", "es2023,esnext.disposable,dom", "--types", "node"];
  const args = ["--noEmit", "--strict", ...lib, "--module", "nodenext", "program.mts", "program.cts"];
  check("types of the package", process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...args], join(work, "types"));
}

const bin = (name) => join(root, "node_modules/.bin", name);
try {
  const main = packMain(
    work,
    PLATFORMS.map(({ name }) => name),
  );
  check("publint", bin("publint"), ["run", "--strict", main]);
  check("attw", bin("attw"), ["--no-color", "--no-emoji", main]);
  checkTypes(main);
} finally {
  rmSync(work, { recursive: true, force: true });
}
process.exit(failed.length === 0 ? 0 : 1);
