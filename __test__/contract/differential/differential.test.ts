import { readFileSync } from "node:fs";
import * as theirs from "pandastack-sdk-0.9.0";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compare } from "./compare.js";
import { errorRows } from "./error.table.js";
import { namespaceRows } from "./namespace.table.js";
import { RecordingServer } from "./recording-server.js";
import { METHODS, RULES } from "./rules.js";
import { sandboxRows } from "./sandbox.table.js";
import { wireRows } from "./wire.table.js";

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

describe.each(RULES)("0.9.0 and this package: %s", (rule) => {
  test.each((wireRows[rule] ?? []).map((row) => [row.name, row] as const))("%s", async (_name, row) => {
    await compare(server, row);
  });
});

test("every rule of the protocol has rows", () => {
  expect(RULES.filter((rule) => !wireRows[rule]?.length)).toEqual([]);
});

/** Names of methods as rows begin with them: those of a sandbox stand alone. */
const documented = Object.entries(METHODS).flatMap(([owner, names]) =>
  names.split(/\s+/).map((name) => (owner === "sandbox" ? name : `${owner}.${name}`)),
);

test("every documented method has a row", () => {
  const rows = new Set([...sandboxRows, ...namespaceRows].map(({ name }) => name.split(" ")[0]));
  const alone = { "context.asyncDispose": "asyncDispose of a context" } as Record<string, string>;
  const names = new Set([...sandboxRows].map(({ name }) => name));
  expect(documented.filter((name) => !rows.has(name) && !names.has(alone[name] ?? name))).toEqual([]);
});

test("every method that 0.9.0 has is documented", () => {
  const client = new theirs.Client({ apiKey: "x" });
  const { filesystem, commands } = theirs.Sandbox.fromInfo({ id: "x", template: "", cpu: 1, memory_mb: 1, status: "" }, client);
  const found = Object.entries<unknown>({ ...client, filesystem, commands })
    .filter((entry): entry is [string, object] => typeof entry[1] === "object" && entry[1] !== null)
    .flatMap(([namespace, value]) => methods(value).map((method) => `${namespace}.${method}`))
    .concat(
      methods(theirs.Sandbox.prototype),
      methods(theirs.CodeContext.prototype).map((method) => `context.${method}`),
    )
    // What 0.9.0 marks as its own.
    .filter((name) => !/(^|\.)_/.test(name));
  expect(found.length).toBeGreaterThan(100);
  expect(found.filter((name) => !documented.includes(name))).toEqual([]);
});

test("every deviation is explained, and every explanation is of one", () => {
  const text = readFileSync(new URL("../../../docs/migration.md", import.meta.url), "utf8");
  const explained = [...text.matchAll(/^\| `([a-z0-9-]+)` \|/gm)].map(([, id]) => id);
  const used = [...sandboxRows, ...namespaceRows, ...errorRows, ...Object.values(wireRows).flat()].flatMap(
    ({ deviation }) => deviation?.id ?? [],
  );
  expect(explained.sort()).toEqual([...new Set(used)].sort());
});

function methods(value: object): string[] {
  const prototype = "constructor" in value && Object.hasOwn(value, "constructor") ? value : Object.getPrototypeOf(value);
  return Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([name, { value }]) => typeof value === "function" && name !== "constructor")
    .map(([name]) => name);
}
