// The JavaScript runtimes that the package promises to work in, each with its own way to install packages.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../../__test__/package/runtimes", import.meta.url));
const bin = (path) => join(folder, "node_modules", path);

/** Downloads them, unless they are there. */
export function installRuntimes() {
  const lock = join(folder, "package-lock.json");
  const installed = bin(".installed-lock");
  if (existsSync(installed) && readFileSync(installed).equals(readFileSync(lock))) return;
  const args = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  execFileSync("npm", args, { cwd: folder, stdio: ["ignore", "inherit", "inherit"] });
  copyFileSync(lock, installed);
}

function npm(node) {
  const script = execFileSync("npm", ["root", "-g"], { encoding: "utf8" }).trim();
  return [node, join(script, "npm", "bin", "npm-cli.js"), "install", "--no-audit", "--no-fund", "--loglevel=error"];
}

function nodeRuntime(name, node) {
  // The launcher of a package's command asks for `node`: it has to be this one.
  return { name, install: npm(node), run: [node], path: dirname(node) };
}

/** Name, and the commands that install a folder's packages and run a file. */
export function runtimes() {
  const bun = bin("bun/bin/bun.exe");
  const deno = bin("@deno/linux-x64-glibc/deno");
  return [
    nodeRuntime(`node ${process.versions.node}`, process.execPath),
    ...["22", "24", "26"].map((major) => nodeRuntime(`node ${major}`, bin(`node${major}/bin/node`))),
    { name: "bun", install: [bun, "install"], run: [bun] },
    { name: "deno", install: [deno, "install", "--node-modules-dir=auto"], run: [deno, "run", "-A", "--node-modules-dir=auto"] },
  ];
}
