import { readFileSync } from "node:fs";
import * as theirs from "pandastack-sdk-0.9.0";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compare } from "./compare.js";
import { errorRows } from "./error.table.js";
import { namespaceRows } from "./namespace.table.js";
import { RecordingServer } from "./recording-server.js";
import { sandboxRows } from "./sandbox.table.js";

let server: RecordingServer;
beforeAll(async () => {
  server = await RecordingServer.start();
});
afterAll(() => server.stop());

describe.each([
  ["sandboxes", sandboxRows],
  ["namespaces", namespaceRows],
  ["errors", errorRows],
])("0.9.0 and this package: %s", (_, rows) => {
  test.each(rows.map((row) => [row.name, row] as const))("%s", async (_name, row) => {
    await compare(server, row);
  });
});

test("every method of 0.9.0 has a row", () => {
  const rows = [...sandboxRows, ...namespaceRows].map(({ name }) => name.split(" ")[0]?.toLowerCase());
  const client = new theirs.Client({ apiKey: "x" });
  const { filesystem, commands } = theirs.Sandbox.fromInfo({ id: "x", template: "", cpu: 1, memory_mb: 1, status: "" }, client);
  const missing = Object.entries<unknown>({ ...client, filesystem, commands })
    .filter((entry): entry is [string, object] => typeof entry[1] === "object" && entry[1] !== null)
    .flatMap(([namespace, value]) => methods(value).map((method) => `${namespace}.${method}`))
    .concat(
      methods(theirs.Sandbox.prototype),
      methods(theirs.CodeContext.prototype).map((method) => `context.${method}`),
    )
    // What 0.9.0 marks as its own, and what other methods are made of and has a test of its own.
    .filter((name) => !/_retry|^explore$/.test(name))
    .filter((name) => !rows.includes(name.toLowerCase()));
  expect(missing).toEqual([]);
});

test("every deviation is explained, and every explanation is of one", () => {
  const text = readFileSync(new URL("../../../docs/migration-surface.md", import.meta.url), "utf8");
  const explained = [...text.matchAll(/^\| `([a-z0-9-]+)` \|/gm)].map(([, id]) => id);
  const used = [...sandboxRows, ...namespaceRows, ...errorRows].flatMap(({ deviation }) => deviation?.id ?? []);
  expect(explained.sort()).toEqual([...new Set(used)].sort());
});

function methods(value: object): string[] {
  const prototype = "constructor" in value && Object.hasOwn(value, "constructor") ? value : Object.getPrototypeOf(value);
  return Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([name, { value }]) => typeof value === "function" && name !== "constructor")
    .map(([name]) => name);
}
