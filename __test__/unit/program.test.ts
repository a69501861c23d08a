// Compiles programs that were written for 0.9.0, against its own types and against these.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const program = join(root, "__test__/types/program/program.ts");

test.each([
  ["node16", ts.ModuleKind.Node16, ts.ModuleResolutionKind.Node16],
  ["bundler", ts.ModuleKind.ESNext, ts.ModuleResolutionKind.Bundler],
])(
  "a program for 0.9.0 compiles unchanged with moduleResolution %s",
  (_, module, moduleResolution) => {
    expect(problems("dist/index.d.mts", module, moduleResolution)).toEqual([]);
  },
  60_000,
);

test("the same program is one for 0.9.0", () => {
  const { ESNext } = ts.ModuleKind;
  expect(problems(THEIRS, ESNext, ts.ModuleResolutionKind.Bundler)).toEqual([]);
}, 60_000);

const THEIRS = "node_modules/pandastack-sdk-0.9.0/dist/index.d.ts";

/** What 0.9.0 exports, and which of it are types only. */
function namesOf090(): { all: string[]; types: string[] } {
  const lists = [...readFileSync(join(root, THEIRS), "utf8").matchAll(/export (?:type )?\{([^}]*)\}/g)];
  const items = lists.flatMap(([, list = ""]) => list.split(",")).map((item) => item.trim());
  const exported = (item: string) =>
    item
      .replace(/^type /, "")
      .split(" as ")
      .at(-1) ?? "";
  return { all: items.map(exported), types: items.filter((item) => item.startsWith("type ")).map(exported) };
}

test("the program leaves out nothing that 0.9.0 exports", () => {
  const { all } = namesOf090();
  expect(all.length).toBeGreaterThanOrEqual(75);
  const text = readFileSync(program, "utf8");
  const used = text.slice(text.indexOf('from "@pandastack/sdk"'));
  expect(all.filter((name) => name !== "default" && !new RegExp(`\\b${name}\\b`).test(used))).toEqual([]);
});

/**
 * Members that are not compared: those that hold a class, which no other class can stand for, and the chart of a result, which is data
 * where there is any (docs/migration.md).
 */
const LEFT_OUT: Record<string, string[]> = {
  BranchOutcome: ["sandbox"],
  Candidate: ["fn"],
  ExploreOptions: ["scoreFn", "select", "onOutcome"],
  ExploreResult: ["winner", "winnerOutcome", "outcomes"],
  Execution: ["results"],
  Result: ["chart"],
};

/** A line that compiles if what one version has can stand where the other wants it. */
function assignment(name: string, to: string, from: string): string {
  const left = LEFT_OUT[name]?.map((member) => `"${member}"`).join(" | ");
  const type = (version: string) => (left ? `Omit<${version}.${name}, ${left}>` : `${version}.${name}`);
  return `export const ${name}_: ${type(to)} = null! as ${type(from)};`;
}

test("every option object of 0.9.0 is one of ours, every result of ours is one of 0.9.0", () => {
  const { types } = namesOf090();
  expect(types.length).toBeGreaterThanOrEqual(45);
  const isInput = (name: string) => /Options$|^Candidate$|^ClientConfig$|Callbacks$/.test(name);
  const lines = types.map((name) => (isInput(name) ? assignment(name, "ours", "theirs") : assignment(name, "theirs", "ours")));
  const head = 'import type * as theirs from "pandastack-sdk-0.9.0";\nimport type * as ours from "@pandastack/sdk";';
  // Were one of the two not found, everything would fit: this must not.
  const control = "// @ts-expect-error\nexport const control: ours.ExecResult = null! as theirs.FileInfo;";
  const folder = mkdtempSync(join(tmpdir(), "pandastack-types-"));
  try {
    const file = join(folder, "assignments.ts");
    writeFileSync(file, [head, ...lines, control].join("\n"));
    expect(problems("dist/index.d.mts", ts.ModuleKind.ESNext, ts.ModuleResolutionKind.Bundler, file)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 60_000);

function problems(types: string, module: ts.ModuleKind, moduleResolution: ts.ModuleResolutionKind, file = program): string[] {
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    noUncheckedIndexedAccess: true,
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts"],
    types: ["node"],
    typeRoots: [join(root, "node_modules/@types")],
    module,
    moduleResolution,
    skipLibCheck: true,
    paths: { "@pandastack/sdk": [join(root, types)], "pandastack-sdk-0.9.0": [join(root, THEIRS)] },
  };
  const diagnostics = ts.getPreEmitDiagnostics(ts.createProgram([file], options));
  return diagnostics.map(({ file, start, messageText }) => {
    const line = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
    return `${file?.fileName.replace(root, "") ?? ""}:${line} ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
  });
}
