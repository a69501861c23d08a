// The look at built files before they are published finds what is wrong with them.
import { join } from "node:path";
import { expect, test } from "vitest";
import { problemsOf } from "../../scripts/check-binaries.mjs";
import { hostBuild } from "../../scripts/pack.mjs";
import { PLATFORMS } from "../../scripts/platforms.mjs";

const [name = "", build = ""] = Object.entries(hostBuild())[0] ?? [];
const host = PLATFORMS.find((platform) => platform.name === name);

test.runIf(host?.os === "linux")("another machine and another C library", () => {
  const addon = join(build, `pandastack.${name}.node`);
  const other = host?.cpu === "x64" ? "arm64" : "x64";
  expect(problemsOf({ ...host, cpu: other }, addon).join()).toContain(`not for ${other}`);
  const libc = host?.libc === "glibc" ? "musl" : "glibc";
  expect(problemsOf({ ...host, libc }, addon).join()).toMatch(/it needs .*libc\./);
  expect(problemsOf(host, addon).join()).not.toContain("libc.so.6");
});
