// Nothing that 0.9.0 offers may be missing.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as ours from "@pandastack/sdk";
import * as theirs from "pandastack-sdk-0.9.0";
import { describe, expect, test } from "vitest";

const THEIR_TYPES = createRequire(import.meta.url)
  .resolve("pandastack-sdk-0.9.0")
  .replace(/index\.js$/, "index.d.ts");
const OUR_TYPES = new URL("../../dist/index.d.ts", import.meta.url);

/** Names in the `export {…}` lists of a declaration file. */
function exported(file: string | URL): string[] {
  const lists = [...readFileSync(file, "utf8").matchAll(/export (?:type )?\{([^}]*)\}/g)].map(([, list]) => list ?? "");
  const names = lists
    .flatMap((list) => list.split(","))
    .map(
      (item) =>
        item
          .trim()
          .split(/\s+as\s+|^type\s+/)
          .at(-1) ?? "",
    );
  return names.map((name) => name.replace(/^type\s+/, "")).filter((name) => name !== "");
}

test("every runtime export of 0.9.0 is here", () => {
  const names = Object.keys(theirs);
  expect(names.length).toBeGreaterThanOrEqual(25);
  expect(names.filter((name) => !(name in ours))).toEqual([]);
  expect(ours.default).toBe(ours.Client);
});

test("every type name of 0.9.0 is here", () => {
  const names = exported(THEIR_TYPES);
  expect(names.length).toBeGreaterThanOrEqual(70);
  const here = exported(OUR_TYPES);
  expect(names.filter((name) => !here.includes(name))).toEqual([]);
});

test("the namespaces are their classes under another name", () => {
  const all = new Map<string, unknown>(Object.entries(ours));
  for (const name of ["Functions", "Schedules", "Databases", "Volumes", "Snapshots", "Apps"]) {
    expect(all.get(`${name}Namespace`)).toBe(all.get(`${name}API`));
    expect(all.get(`${name}API`)).toBeTypeOf("function");
  }
});

describe("every method of 0.9.0 is here", () => {
  const config = { apiUrl: "http://127.0.0.1:1", apiKey: "x" };
  const info = { id: "x", template: "", cpu: 1, memory_mb: 1, status: "running" };
  const objects = (sdk: typeof theirs): Record<string, object> => {
    const client = new sdk.Client(config);
    const sandbox = sdk.Sandbox.fromInfo(info, client);
    const { filesystem, commands } = sandbox;
    const context = new sdk.CodeContext(client, "x", "y");
    return { client, ...namespaces(client), sandbox, filesystem, commands, context, Sandbox: sdk.Sandbox };
  };
  const before = objects(theirs);
  const after = objects(ours as unknown as typeof theirs);

  test.each(Object.keys(before))("%s", (name) => {
    const [old, now] = [before[name], after[name]] as [object, object];
    const members = [...new Set([...Object.keys(old), ...Reflect.ownKeys(Object.getPrototypeOf(old))])];
    const own = name === "Sandbox" ? Reflect.ownKeys(old) : members;
    const missing = own.filter((member) => !String(member).startsWith("_") && !(member in now));
    // Members that 0.9.0 marks as private.
    expect(missing.filter((member) => !["client", "sandboxId", "sandbox"].includes(String(member)))).toEqual([]);
  });
});

function namespaces(client: object): Record<string, object> {
  return Object.fromEntries(Object.entries(client).filter(([, value]) => typeof value === "object" && value !== null));
}
