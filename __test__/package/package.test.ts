// What is published: the files, the versions, and that it loads in every way a program may load it.
import { cpSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import webpack from "webpack";
import { manifestOf, PLATFORMS } from "../../scripts/platforms.mjs";
import { InstalledPackage } from "./installed.js";

const root = new URL("../..", import.meta.url).pathname;
const json = (path: string) => JSON.parse(readFileSync(path, "utf8"));
let installed: InstalledPackage;

beforeAll(() => {
  installed = new InstalledPackage();
  cpSync(join(root, "__test__/package/programs"), join(installed.folder, "programs"), { recursive: true });
}, 60_000);
afterAll(() => installed?.remove());

/** A program that gets as far as the network: nobody listens on port 1. */
const program = `const client = new sdk.Client({ apiUrl: "http://127.0.0.1:1", apiKey: "none" });
client.me().catch((error) => console.log(error instanceof sdk.NetworkError, error.code));`;

test("the main package has what runs, its types, and nothing else", () => {
  expect(readdirSync(installed.main).sort()).toEqual(["LICENSE", "README.md", "dist", "package.json"]);
  const files = readdirSync(join(installed.main, "dist"), { recursive: true }).map(String);
  expect(files.filter((file) => !/^[\w/-]+(\.d)?(\.[mc]?[jt]s)?$/.test(file))).toEqual([]);
  expect(files.filter((file) => file.endsWith(".ts") && !/\.d\.m?ts$/.test(file))).toEqual([]);
  const manifest = json(join(installed.main, "package.json"));
  expect(manifest).not.toHaveProperty("devDependencies");
  expect(manifest).not.toHaveProperty("scripts");
});

test("every file that package.json names is there", () => {
  const manifest = json(join(installed.main, "package.json"));
  const named = JSON.stringify([manifest.main, manifest.module, manifest.types, manifest.bin, manifest.exports]);
  const paths = [...named.matchAll(/"((?:\.\/)?(?:dist\/|package)[^"]*\.[^"]*)"/g)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(15);
  expect(paths.filter((path) => !existsSync(join(installed.main, path)))).toEqual([]);
});

test("a platform's package has the version of the main package, which asks for exactly that", () => {
  const main = json(join(installed.main, "package.json"));
  const platform = json(join(installed.addon, "package.json"));
  expect(platform.version).toBe(main.version);
  expect(main.optionalDependencies).toEqual({ [platform.name]: main.version });
  expect(main.version).toBe(/^version = "(.*)"$/m.exec(readFileSync(join(root, "Cargo.toml"), "utf8"))?.[1]);
});

test("a platform's package has its addon and, on Linux, the binaries", () => {
  const files = [`pandastack.${installed.platform}.node`, "pandastack", "pandastack-guest"];
  expect(readdirSync(installed.addon).sort()).toEqual([...files, "LICENSE", "README.md", "package.json"].sort());
  expect(files.filter((file) => (statSync(join(installed.addon, file)).mode & 0o111) !== 0o111)).toEqual([]);
});

test("each platform installs only where it runs", () => {
  const main = json(join(root, "package.json"));
  expect(PLATFORMS.map(({ target }) => target)).toEqual(main.napi.targets);
  for (const platform of PLATFORMS) {
    const { name, os, cpu, libc } = manifestOf(platform, main);
    const [system, machine, abi] = platform.name.split("-");
    expect(name).toBe(`@pandastack/sdk-${platform.name}`);
    expect([os, cpu]).toEqual([[system], [machine]]);
    expect(libc).toEqual(system === "linux" ? [abi === "musl" ? "musl" : "glibc"] : undefined);
  }
});

test("import", async () => {
  expect(await installed.node(["--input-type=module", "-e", `import * as sdk from "@pandastack/sdk";${program}`])).toBe(
    "true network",
  );
});

test("require", async () => {
  expect(await installed.node(["-e", `const sdk = require("@pandastack/sdk");${program}`])).toBe("true network");
});

test("import and require give the same classes", async () => {
  const both = `import * as sdk from "@pandastack/sdk"; import { createRequire } from "node:module";
    const other = createRequire(process.cwd() + "/x.js")("@pandastack/sdk");
    console.log(Object.keys(other).filter((name) => name !== "default" && sdk[name] !== other[name]).length, sdk.default === other.default);`;
  expect(await installed.node(["--input-type=module", "-e", both])).toBe("0 true");
});

test("the addon is loaded when it is first needed, not before", async () => {
  const code = `require("@pandastack/sdk");
    const loaded = () => Object.keys(require.cache).some((path) => path.endsWith(".node"));
    const before = loaded();
    new (require("@pandastack/sdk").Client)({ apiKey: "none" });
    console.log(before, loaded());`;
  expect(await installed.node(["-e", code])).toBe("false true");
});

test("main thread and workers", async () => {
  expect(await installed.node(["programs/worker.cjs"])).toBe("worker: as it should be");
});

test("the command starts the binary and ends as it ends", async () => {
  const command = join(installed.main, "dist/bin.js");
  expect(await installed.node([command, "--version"])).toMatch(/^pandastack \d/);
  const failure = await installed.node([command, "no-such-word"]).catch((error) => error);
  expect(failure.code).toBe(2);
  expect(failure.stderr).toContain("no-such-word");
});

const source = `import * as sdk from "@pandastack/sdk";${program}`;

test("esbuild, with the package external", async () => {
  const outfile = join(installed.folder, "esbuild.cjs");
  const stdin = { contents: source, resolveDir: installed.folder };
  const { warnings } = await build({ stdin, bundle: true, platform: "node", external: ["@pandastack/sdk"], outfile });
  expect(warnings).toEqual([]);
  expect(await installed.node([outfile])).toBe("true network");
});

test("webpack, with the package external", async () => {
  const entry = `data:text/javascript,${encodeURIComponent(source)}`;
  const compiler = webpack({
    mode: "production",
    target: "node",
    context: installed.folder,
    entry,
    externals: { "@pandastack/sdk": "commonjs @pandastack/sdk" },
    output: { path: installed.folder, filename: "webpack.cjs" },
  });
  const stats = await new Promise<webpack.Stats | undefined>((resolve, reject) =>
    compiler?.run((error, result) => (error ? reject(error) : resolve(result))),
  );
  expect(stats?.toJson({ all: false, errors: true, warnings: true })).toMatchObject({ errors: [], warnings: [] });
  expect(await installed.node([join(installed.folder, "webpack.cjs")])).toBe("true network");
});
