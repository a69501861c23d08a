import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const documents = execFileSync("git", ["ls-files", "*.md"], { cwd: root, encoding: "utf8" }).trim().split("\n");
const folders = /^(__test__|bench|crates|docs|examples|kernels|lib|scripts|src|templates)\//;

/** What a document names in backticks. */
function namesIn(text: string): string[] {
  return [...text.matchAll(/`([^`\s]+)`/g)].map(([, name = ""]) => name);
}

/** Of those, what begins like a path of this repository. */
function pathsIn(text: string): string[] {
  return namesIn(text).filter((name) => folders.test(name) && !/[<*]/.test(name));
}

function missing(paths: string[]): string[] {
  return paths.filter((path) => !existsSync(join(root, path)));
}

describe.each(documents)("%s", (document) => {
  test("its links lead somewhere", () => {
    const links = [...read(document).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link = ""]) => link);
    expect(missing(links.map((link) => join(dirname(document), link)))).toEqual([]);
  });

  test("the paths it names exist", () => {
    expect(missing(pathsIn(read(document)))).toEqual([]);
  });
});

/** Rows of the table of nouns, each path completed by the folder that the head of its column names. */
function pathsOfNouns(): string[] {
  const table = read("docs/architecture.md").split("## Nouns")[1]?.split("\n## ")[0] ?? "";
  const [head = "", , ...rows] = table.split("\n").filter((line) => line.startsWith("|"));
  const roots = head.split("|").map((cell) => namesIn(cell)[0] ?? "");
  return rows.flatMap((row) => row.split("|").flatMap((cell, column) => namesIn(cell).map((name) => roots[column] + name)));
}

test("the table of nouns names real files", () => {
  expect(pathsOfNouns().length).toBeGreaterThan(30);
  expect(missing(pathsOfNouns())).toEqual([]);
});

test("the recipe names a path for each floor", () => {
  const recipe = read("CONTRIBUTING.md").split("## How to add an operation")[1] ?? "";
  const floors = new Set(
    pathsIn(recipe).map((path) =>
      path
        .split("/")
        .slice(0, path.startsWith("crates") ? 2 : 1)
        .join("/"),
    ),
  );
  expect([...floors]).toEqual(
    expect.arrayContaining(["crates/protocol", "crates/engine", "crates/client", "src", "lib", "__test__"]),
  );
});
