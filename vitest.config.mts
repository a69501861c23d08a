import { defineConfig } from "vitest/config";

/** Tests use the package as it is published: what `npm run build` made. */
const file = (path: string) => new URL(path, import.meta.url).pathname;
const resolve = {
  alias: [
    { find: "@pandastack/sdk/ai", replacement: file("dist/agents/ai.mjs") },
    { find: "@pandastack/sdk/mastra", replacement: file("dist/agents/mastra.mjs") },
    { find: "@pandastack/sdk", replacement: file("dist/index.mjs") },
  ],
};

export default defineConfig({
  test: {
    projects: [
      {
        resolve,
        test: { name: "unit", include: ["__test__/unit/**/*.test.ts", "__test__/agents/unit/**/*.test.ts"] },
      },
      { resolve, test: { name: "contract", include: ["__test__/contract/**/*.test.ts"], testTimeout: 60_000 } },
      {
        test: {
          name: "package",
          include: ["__test__/package/**/*.test.ts"],
          globalSetup: "__test__/package/setup.ts",
          testTimeout: 60_000,
        },
      },
      {
        resolve,
        test: {
          name: "engine",
          include: ["__test__/engine/**/*.test.ts", "__test__/agents/engine/**/*.test.ts"],
          // Each file starts an engine of its own: too many at once would measure the machine.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
