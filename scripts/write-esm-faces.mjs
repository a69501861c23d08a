// Writes the ESM face of every entry point of package.json: there is one implementation, in CommonJS, so that classes are the same
// whichever way the package is loaded.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const { exports } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));

for (const entry of Object.values(exports)) {
  const script = entry.require?.default;
  if (!script || !existsSync(root + script)) continue;
  const name = basename(script, ".js");
  const hasDefault = /exports(\.default = |, "default")/.test(readFileSync(root + script, "utf8"));
  const face = `export * from './${name}.js'\n`;
  // Under Node's rules the default import of a CommonJS module is the module, also to the compiler: the class is exported by its name.
  const [, named] = /(\w+) as default/.exec(readFileSync(root + script.replace(/\.js$/, ".d.ts"), "utf8")) ?? [];
  const types = hasDefault ? `${face}export { ${named} as default } from './${name}.js'\n` : face;
  // Node gives `module.exports` as the default import, some bundlers and test runners its `default`.
  const code = hasDefault
    ? `${face}import implementation from './${name}.js';\nexport default implementation.default ?? implementation;\n`
    : face;
  writeFileSync(root + script.replace(/\.js$/, ".mjs"), code);
  writeFileSync(root + script.replace(/\.js$/, ".d.mts"), types);
}
