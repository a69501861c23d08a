// Guards who may need whom (docs/architecture.md): the addon converts, the client never sees the engine, the agent knows nothing but its protocol.
import { execFileSync } from "node:child_process";

const metadata = JSON.parse(
  execFileSync("cargo", ["metadata", "--format-version=1", "--no-deps", "--locked"], { encoding: "utf8", maxBuffer: 1 << 26 }),
);
const allowed = {
  "pandastack-protocol": [],
  "pandastack-guest-protocol": [],
  "pandastack-client": ["pandastack-protocol"],
  "pandastack-engine": ["pandastack-protocol", "pandastack-guest-protocol"],
  "pandastack-guest": ["pandastack-guest-protocol"],
  "pandastack-cli": ["pandastack-protocol", "pandastack-client", "pandastack-engine"],
  "pandastack-sdk": ["pandastack-protocol", "pandastack-client"],
};
const wrong = [];
for (const crate of metadata.packages) {
  if (!(crate.name in allowed)) wrong.push(`${crate.name} is not in the list of scripts/check-arrows.mjs`);
  for (const dependency of crate.dependencies) {
    const inside = dependency.name.startsWith("pandastack") && dependency.kind === null;
    if (inside && !allowed[crate.name]?.includes(dependency.name)) wrong.push(`${crate.name} must not need ${dependency.name}`);
    if (dependency.name.startsWith("napi") && !["pandastack-sdk", "pandastack-protocol"].includes(crate.name)) {
      wrong.push(`${crate.name} must not need ${dependency.name}`);
    }
  }
}
if (wrong.length > 0) {
  console.error(wrong.join("\n"));
  process.exit(1);
}
