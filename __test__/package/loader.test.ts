// What a program is told where the addon cannot be loaded.
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { InstalledPackage } from "./installed.js";

let installed: InstalledPackage;
let kept: string;
beforeAll(() => {
  installed = new InstalledPackage();
  kept = join(installed.folder, "kept");
  cpSync(installed.addon, kept, { recursive: true });
}, 60_000);
afterEach(() => cpSync(kept, installed.addon, { recursive: true, force: true }));
afterAll(() => installed?.remove());

/** What happens to the first client of a program that believes to run on another platform. */
async function failureOn(platform: string, arch: string, libc = "glibc") {
  const code = `
    const pretend = (name, value) => Object.defineProperty(process, name, { value });
    pretend("platform", "${platform}");
    pretend("arch", "${arch}");
    pretend("report", { getReport: () => ({ header: ${libc === "glibc" ? '{ glibcVersionRuntime: "2.36" }' : "{}"} }) });
    const sdk = require("@pandastack/sdk");
    try {
      new sdk.Client({ apiKey: "none" });
      console.log(JSON.stringify({ message: "it loads" }));
    } catch (error) {
      const { code, message, cause } = error;
      console.log(JSON.stringify({ isOurs: error instanceof sdk.AddonError, code, message, cause: cause?.message }));
    }`;
  return JSON.parse(await installed.node(["-e", code]));
}

test.each([
  ["linux", "arm64", "glibc", "linux-arm64 (glibc)", "linux-arm64-gnu"],
  ["linux", "arm64", "musl", "linux-arm64 (musl)", "linux-arm64-musl"],
  ["darwin", "arm64", "", "darwin-arm64", "darwin-arm64"],
  ["darwin", "x64", "", "darwin-x64", "darwin-x64"],
  ["win32", "x64", "", "win32-x64", "win32-x64-msvc"],
])("on %s %s %s it names the package to install", async (platform, arch, libc, shown, name) => {
  const { version } = JSON.parse(readFileSync(join(installed.main, "package.json"), "utf8"));
  expect(await failureOn(platform, arch, libc || "glibc")).toMatchObject({
    isOurs: true,
    code: "addon",
    message:
      `no addon of @pandastack/sdk for ${shown} under Node.js ${process.versions.node}: \`@pandastack/sdk-${name}\` is not installed; ` +
      `install the package of this platform: \`npm install @pandastack/sdk-${name}@${version}\``,
  });
});

test.each([
  ["sunos", "x64"],
  ["linux", "ia32"],
])("on %s %s it says where the package runs", async (platform, arch) => {
  const { message } = await failureOn(platform, arch);
  expect(message).toContain(`for ${platform}-${arch}`);
  expect(message).toContain("linux, darwin and win32 on x64 and arm64");
  expect(message).not.toContain("npm install");
});

test("a file that does not load: the loader's own reason", async () => {
  writeFileSync(join(installed.addon, `pandastack.${installed.platform}.node`), "not an addon");
  const { code, message, cause } = await failureOn(process.platform, process.arch);
  expect(code).toBe("addon");
  expect(message).toMatch(/invalid ELF header|file too short/);
  expect(cause).toMatch(/invalid ELF header|file too short/);
});

test("a package of another version is not loaded", async () => {
  const path = join(installed.addon, "package.json");
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), version: "0.0.1" }));
  const { message } = await failureOn(process.platform, process.arch);
  expect(message).toContain("has version 0.0.1, @pandastack/sdk has");
});

test("where both C libraries are installed the one that loads is taken", async () => {
  const { addon, platform } = installed;
  const other = platform.replace("-gnu", "-musl");
  const musl = addon.replace("-gnu", "-musl");
  cpSync(addon, musl, { recursive: true });
  renameSync(join(musl, `pandastack.${platform}.node`), join(musl, `pandastack.${other}.node`));
  const manifest = readFileSync(join(musl, "package.json"), "utf8").replaceAll(platform, other);
  writeFileSync(join(musl, "package.json"), manifest);
  writeFileSync(join(addon, `pandastack.${platform}.node`), "for another C library");
  const outcome = await failureOn(process.platform, process.arch);
  rmSync(musl, { recursive: true });
  expect(outcome).toEqual({ message: "it loads" });
});

test("an asynchronous call rejects, it does not throw", async () => {
  const code = `Object.defineProperty(process, "platform", { value: "sunos" });
    const { Sandbox } = require("@pandastack/sdk");
    Sandbox.create().catch((error) => console.log(error.name, error.code));`;
  expect(await installed.node(["-e", code])).toBe("AddonError addon");
});
