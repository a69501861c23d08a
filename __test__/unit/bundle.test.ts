import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pandastack-bundle-"));
  mkdirSync(join(folder, "node_modules/@pandastack"), { recursive: true });
  symlinkSync(root, join(folder, "node_modules/@pandastack/sdk"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test.each(["cjs", "es"] as const)(
  "fault 4.23: a server that Vite bundles as %s loads the package, which stays outside",
  async (format) => {
    writeFileSync(
      join(folder, "entry.js"),
      'import { Client } from "@pandastack/sdk"; console.log(new Client({ apiUrl: "http://a.example" }).apiUrl);',
    );
    const { build } = await import("vite");
    const file = format === "cjs" ? "out.cjs" : "out.mjs";
    await build({
      root: folder,
      logLevel: "silent",
      ssr: { external: ["@pandastack/sdk"] },
      build: { ssr: "entry.js", outDir: "out", rollupOptions: { output: { format, entryFileNames: file } } },
    });
    expect(execFileSync(process.execPath, [join(folder, "out", file)], { encoding: "utf8" })).toBe("http://a.example\n");
  },
);
