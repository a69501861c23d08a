import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");

/** Every number that a fault has. */
const FAULTS = {
  2: [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 28, 29, 30, 31, 33].concat([
    35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45,
  ]),
  4: [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 18, 22, 23, 24, 25, 26],
};
const numbers = Object.entries(FAULTS).flatMap(([part, list]) => list.map((number) => `${part}.${number}`));

/** Numbers at the beginning of tests' names. */
function tested(): string[] {
  const files = readdirSync(join(root, "__test__"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".test.ts"),
  );
  return files.flatMap((name) => {
    const text = readFileSync(join(root, "__test__", name), "utf8");
    const names = [...text.matchAll(/["'`]fault ([\d., ]+): /g)];
    return names.flatMap(([, found = ""]) => found.split(", "));
  });
}

/** Numbers with a reason in docs/migration.md. */
function excused(): string[] {
  const part = readFileSync(join(root, "docs/migration.md"), "utf8").split("## Known faults without a test")[1] ?? "";
  return [...part.matchAll(/^\| (\d\.\d+) \| .{20,} \|$/gm)].map(([, number = ""]) => number);
}

test("every known fault has a test, or a reason why it has none", () => {
  const covered = new Set([...tested(), ...excused()]);
  expect(numbers.filter((number) => !covered.has(number))).toEqual([]);
});

test("every number is that of a known fault", () => {
  expect([...tested(), ...excused()].filter((number) => !numbers.includes(number))).toEqual([]);
});

test("a fault that has a test needs no excuse", () => {
  expect(excused().filter((number) => tested().includes(number))).toEqual([]);
});
