// Writes lib/wire/*.ts from the Rust types of crates/protocol.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const { status } = spawnSync(
  "cargo",
  ["test", "--quiet", "--profile", "fast", "-p", "pandastack-protocol", "--features", "ts", "export_bindings"],
  {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, TS_RS_EXPORT_DIR: `${root}lib/wire`, TS_RS_LARGE_INT: "number", TS_RS_IMPORT_EXTENSION: "js" },
  },
);
process.exit(status ?? 1);
