// Writes index.d.ts: every public declaration of the package without its comments, so that a change of the public types shows in a diff.
// With --check: fails if it is not up to date. Reads dist/, so build first.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));
const committed = join(root, "index.d.ts");
const { name, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const entries = Object.entries(exports)
  .filter(([, entry]) => entry.require)
  .map(([path, entry]) => ({ module: path.replace(/^\./, name), file: join(root, entry.require.types) }));

const options = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, types: [], noLib: true };
const host = ts.createCompilerHost(options);
// Declarations are printed as they stand: nothing needs the types of dependencies, and reading them takes longer than all the rest.
host.resolveModuleNameLiterals = (literals, importer) =>
  literals.map(({ text }) =>
    text.startsWith(".") ? ts.resolveModuleName(text, importer, options, host) : { resolvedModule: undefined },
  );
const program = ts.createProgram(
  entries.map(({ file }) => file),
  options,
  host,
);
const checker = program.getTypeChecker();
const printer = ts.createPrinter({ removeComments: true });

/** Declarations of an entry point, sorted by the name under which they are exported. */
function declarationsOf(file) {
  const source = program.getSourceFile(file);
  const names = checker.getExportsOfModule(checker.getSymbolAtLocation(source));
  return names
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((exported) => {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      if (symbol.name !== exported.name) return [`export { ${symbol.name} as ${exported.name} };`];
      if (!symbol.declarations) throw new Error(`no declaration of \`${exported.name}\` in ${file}`);
      return symbol.declarations.map(printed);
    });
}

function printed(declaration) {
  const statement = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
  return printer
    .printNode(ts.EmitHint.Unspecified, statement, statement.getSourceFile())
    .replace(/^(export )?(declare )?/, "export ");
}

const sections = entries.map(({ module, file }) => {
  const body = declarationsOf(file)
    .join("\n")
    .replace(/^(?=.)/gm, "  ");
  return `declare module "${module}" {\n${body}\n}\n`;
});
const text = `// The public types, written by scripts/write-api.mjs (\`npm run build:api\`). Not published: the package has dist/.\n\n${sections.join("\n")}`;

if (!process.argv.includes("--check")) writeFileSync(committed, text);
else if (readFileSync(committed, "utf8") !== text) {
  console.error("index.d.ts is not up to date: the public types changed; run `npm run build:api` and look at the difference");
  process.exit(1);
}
