// Packs the main package and those of platforms as tarballs, as they are published.
// Usage: node scripts/pack.mjs FOLDER [PLATFORM=BUILD]…   default: this machine's platform from native/, what `make build` made
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { filesOf, hostPlatform, manifestOf, PLATFORMS } from "./platforms.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const main = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/**
 * Packs into `folder`.
 *
 * @param builds - Folder of the built files by name of platform.
 * @returns Paths of the tarballs: platforms first, as they have to be published.
 */
export function pack(folder, builds) {
  mkdirSync(folder, { recursive: true });
  const packages = Object.entries(builds).map(([name, build]) => packPlatform(folder, name, build));
  return [...packages, packMain(folder, Object.keys(builds))];
}

function packPlatform(folder, name, build) {
  const platform = PLATFORMS.find((known) => known.name === name);
  if (!platform) throw new Error(`no such platform: \`${name}\`; there are: ${PLATFORMS.map((known) => known.name).join(", ")}`);
  const stage = emptyStage(folder, name);
  for (const file of filesOf(platform)) {
    const source = join(build, file);
    if (!existsSync(source)) throw new Error(`not built: \`${source}\``);
    copyFileSync(source, join(stage, file));
    chmodSync(join(stage, file), 0o755);
  }
  const manifest = manifestOf(platform, main);
  writeFileSync(join(stage, "README.md"), `# ${manifest.name}\n\n${manifest.description}. Installed by \`${main.name}\`.\n`);
  return packed(stage, folder, manifest);
}

/** Packs the main package alone; the platforms are pinned to its very version, and none is named that is not there. */
export function packMain(folder, names) {
  const stage = emptyStage(folder, "main");
  cpSync(join(root, "dist"), join(stage, "dist"), { recursive: true, filter: (path) => !path.endsWith("/.built") });
  copyFileSync(join(root, "README.md"), join(stage, "README.md"));
  const { devDependencies: _, scripts: __, napi: ___, ...published } = main;
  const optionalDependencies = Object.fromEntries(names.map((name) => [`${main.name}-${name}`, main.version]));
  return packed(stage, folder, { ...published, optionalDependencies });
}

function emptyStage(folder, name) {
  const stage = join(folder, "stage", name);
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage, { recursive: true });
  copyFileSync(join(root, "LICENSE"), join(stage, "LICENSE"));
  return stage;
}

function packed(stage, folder, manifest) {
  writeFileSync(join(stage, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", resolve(folder)];
  const [{ filename }] = JSON.parse(execFileSync("npm", args, { cwd: stage, encoding: "utf8" }));
  return join(resolve(folder), filename);
}

/** What `make build` made for this machine. */
export function hostBuild() {
  const host = hostPlatform();
  if (!host) throw new Error(`no package for this platform: ${process.platform}-${process.arch}`);
  return { [host.name]: join(root, "native") };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [folder, ...given] = process.argv.slice(2);
  if (!folder) throw new Error("usage: node scripts/pack.mjs FOLDER [PLATFORM=BUILD]…");
  const builds = given.length > 0 ? Object.fromEntries(given.map((pair) => pair.split("="))) : hostBuild();
  console.log(pack(folder, builds).join("\n"));
}
