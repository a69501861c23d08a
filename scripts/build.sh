#!/usr/bin/env bash
# Builds the guest agent, the `pandastack` binary, the addon and the TypeScript.
# Usage: scripts/build.sh [fast|release], default fast: no link-time optimisation, for tests and the demo.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${1:-fast}
target=${CARGO_TARGET_DIR:-target}
triple=$(rustc -vV | sed -n 's/^host: //p')

# The agent is linked statically and so has flags of its own; a target folder of its own keeps them from invalidating the rest.
RUSTFLAGS="-C target-feature=+crt-static" cargo build --quiet --locked --profile "$profile" -p pandastack-guest \
  --target "$triple" --target-dir "$target/guest"
cargo build --quiet --locked --profile "$profile" -p pandastack-cli
mkdir -p native
install_if_changed() { cmp -s "$1" "$2" || { cp "$1" "$2.new" && mv "$2.new" "$2"; }; }
install_if_changed "$target/guest/$triple/$profile/pandastack-guest" native/pandastack-guest
install_if_changed "$target/$profile/pandastack" native/pandastack
npm run --silent "build:$profile"
