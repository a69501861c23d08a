// Checks built files of a Linux platform with readelf: right machine, stripped, small enough, and nothing needed that an old distribution lacks.
// Usage: node scripts/check-binaries.mjs PLATFORM FOLDER
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { filesOf, PLATFORMS } from "./platforms.mjs";

/** Newest version of glibc whose symbols may be used: Debian 10, RHEL 8, Amazon Linux 2023 and everything newer have it. */
const GLIBC_FLOOR = "2.28";
/** Bytes. The addon is loaded by every program that uses the package. */
const ADDON_BUDGET = 4_500_000;
/** Shared libraries that every system has. */
const EXPECTED = {
  glibc: /^(libc\.so\.6|libm\.so\.6|libdl\.so\.2|libpthread\.so\.0|librt\.so\.1|ld-linux-(x86-64\.so\.2|aarch64\.so\.1))$/,
  musl: /^libc\.(so|musl-(x86_64|aarch64)\.so\.1)$/,
};
const MACHINES = { x64: "X86-64", arm64: "AArch64" };

const readelf = (flag, file) => execFileSync("readelf", ["-W", flag, file], { encoding: "utf8", maxBuffer: 1 << 26 });

/** What is wrong with one file; empty if nothing is. */
export function problemsOf(platform, file) {
  const problems = [];
  const machine = /Machine:\s+(.*)/.exec(readelf("-h", file))?.[1] ?? "unknown";
  if (!machine.includes(MACHINES[platform.cpu])) problems.push(`it is made for ${machine}, not for ${platform.cpu}`);
  if (/\.(symtab|debug_info)\b/.test(readelf("-S", file))) problems.push("it is not stripped");
  const needed = [...readelf("-d", file).matchAll(/NEEDED.*\[(.*)\]/g)].map(([, library]) => library);
  const unexpected = needed.filter((library) => !EXPECTED[platform.libc].test(library));
  if (unexpected.length > 0) problems.push(`it needs ${unexpected.join(", ")}`);
  const versions = [...readelf("-V", file).matchAll(/Name: GLIBC_([\d.]+)/g)].map(([, version]) => version);
  const newest = versions.sort(byVersion).at(-1);
  if (newest && byVersion(newest, GLIBC_FLOOR) > 0)
    problems.push(`it needs glibc ${newest}; at most ${GLIBC_FLOOR} may be needed`);
  const size = statSync(file).size;
  if (file.endsWith(".node") && size > ADDON_BUDGET) problems.push(`it has ${size} bytes, ${ADDON_BUDGET} are allowed`);
  return problems;
}

function byVersion(one, other) {
  const [a, b] = [one, other].map((version) => version.split(".").map(Number));
  return a[0] - b[0] || (a[1] ?? 0) - (b[1] ?? 0);
}

if (process.argv[1]?.endsWith("check-binaries.mjs")) {
  const [name, folder] = process.argv.slice(2);
  const platform = PLATFORMS.find((known) => known.name === name);
  if (!platform?.libc || !folder)
    throw new Error("usage: node scripts/check-binaries.mjs PLATFORM FOLDER, PLATFORM one of Linux");
  let failed = false;
  for (const file of filesOf(platform)) {
    const path = join(folder, file);
    const problems = problemsOf(platform, path);
    failed ||= problems.length > 0;
    console.log(`${name}/${file}: ${(statSync(path).size / 1e6).toFixed(2)} MB, ${problems.join("; ") || "as it should be"}`);
  }
  process.exit(failed ? 1 : 0);
}
