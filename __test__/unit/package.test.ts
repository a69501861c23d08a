import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

test("fault 2.44: both ways of loading have types of their own, and what the package needs is what it names", () => {
  const entries = Object.values<Record<string, { types: string; default: string }> | string>(manifest.exports);
  const ways = entries.filter((entry) => typeof entry !== "string");
  expect(ways.length).toBeGreaterThan(2);
  for (const way of ways) {
    expect([way.import?.types.endsWith(".d.mts"), way.require?.types.endsWith(".d.ts")]).toEqual([true, true]);
    for (const face of Object.values(way))
      for (const file of Object.values(face)) expect(existsSync(join(root, file))).toBe(true);
  }
  expect(Object.keys(manifest.dependencies)).toEqual(["zod"]);
  expect(readFileSync(join(root, "README.md"), "utf8")).not.toMatch(/zero (runtime )?dependencies/i);
});

test("fault 4.24: without its addon the package says for which platform there is none, and what to install", () => {
  const folder = mkdtempSync(join(tmpdir(), "pandastack-package-"));
  cpSync(join(root, "dist"), join(folder, "dist"), { recursive: true });
  cpSync(join(root, "package.json"), join(folder, "package.json"));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const program = `try { new (require(${JSON.stringify(folder)}).Client)() } catch (error) { console.log(error.message) }`;
  const message = execFileSync(process.execPath, ["-e", program], { encoding: "utf8" });
  rmSync(folder, { recursive: true });
  expect(message).toContain(`${process.platform}-${process.arch}`);
  expect(message).toMatch(/install/i);
});
