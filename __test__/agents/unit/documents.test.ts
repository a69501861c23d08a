import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");
const documents = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "docs/agents/design.md",
  "examples/README.md",
  "examples/data/README.md",
];
const folders = /^(__test__|bench|crates|docs|examples|kernels|lib|scripts|src)\//;

/** What a document names in backticks and that begins like a path of this repository. */
function pathsIn(text: string): string[] {
  const code = [...text.matchAll(/`([^`\s]+)`/g)].map(([, name = ""]) => name);
  return code.filter((name) => folders.test(name) && !/[<*]/.test(name));
}

describe.each(documents)("%s", (document) => {
  const text = readFileSync(join(root, document), "utf8");

  test("its links lead somewhere", () => {
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link = ""]) => link);
    expect(links.filter((link) => !existsSync(join(root, dirname(document), link)))).toEqual([]);
  });

  test("the paths it names exist", () => {
    expect(pathsIn(text).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

test("the recipe names a path for each floor", () => {
  const recipe = readFileSync(join(root, "CONTRIBUTING.md"), "utf8").split("## How to add an operation")[1] ?? "";
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
