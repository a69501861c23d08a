// Compiles a program that was written for 0.9.0, against its own types and against these.
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
  expect(problems("node_modules/pandastack-sdk-0.9.0/dist/index.d.ts", ESNext, ts.ModuleResolutionKind.Bundler)).toEqual([]);
}, 60_000);

function problems(types: string, module: ts.ModuleKind, moduleResolution: ts.ModuleResolutionKind): string[] {
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
    paths: { "@pandastack/sdk": [join(root, types)] },
  };
  const diagnostics = ts.getPreEmitDiagnostics(ts.createProgram([program], options));
  return diagnostics.map(({ file, start, messageText }) => {
    const line = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
    return `${file?.fileName.replace(root, "") ?? ""}:${line} ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
  });
}
