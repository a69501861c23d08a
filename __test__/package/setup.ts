// Packs once for all tests.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { hostBuild, pack } from "../../scripts/pack.mjs";

declare module "vitest" {
  export interface ProvidedContext {
    /** Name of this machine's platform. */
    platform: string;
    /** Paths of what is published. */
    tarballs: { main: string; platform: string };
  }
}

export default function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "pandastack-tarballs-"));
  const builds = hostBuild();
  const [platform = "", main = ""] = pack(folder, builds);
  project.provide("platform", Object.keys(builds)[0] ?? "");
  project.provide("tarballs", { main, platform });
  return () => rmSync(folder, { recursive: true, force: true });
}
