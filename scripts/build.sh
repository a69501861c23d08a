#!/usr/bin/env bash
# Builds the guest agent, the `pandastack` binary, the addon and the TypeScript. Does nothing that is already done.
# Usage: scripts/build.sh [fast|release], default fast: no link-time optimisation, for tests and the demo.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -d node_modules ] || { echo "error: node_modules is missing; run: make setup" >&2; exit 1; }
profile=${1:-fast}
target=${CARGO_TARGET_DIR:-target}
mkdir -p native dist

# True if one of the files or folders was changed after the stamp was written, or if it was written for another profile.
changed_since() {
  local stamp=$1; shift
  [ "$(cat "$stamp" 2>/dev/null)" = "$profile" ] || return 0
  [ -n "$(find "$@" -newer "$stamp" -print -quit)" ]
}

# A running binary cannot be overwritten, only replaced.
install_if_changed() { cmp -s "$1" "$2" || { cp "$1" "$2.new" && mv "$2.new" "$2"; }; }

# The first build takes minutes, and then one wants to see that it goes on; later ones are silent.
quiet=--quiet
[ -e native/pandastack ] || quiet=

binaries() {
  local triple; triple=$(rustc -vV | sed -n 's/^host: //p')
  # The agent is linked statically and so has flags of its own; a target folder of its own keeps them from invalidating the rest.
  RUSTFLAGS="-C target-feature=+crt-static" cargo build $quiet --locked --profile "$profile" -p pandastack-guest \
    --target "$triple" --target-dir "$target/guest"
  cargo build $quiet --locked --profile "$profile" -p pandastack-cli
  install_if_changed "$target/guest/$triple/$profile/pandastack-guest" native/pandastack-guest
  if ! cmp -s "$target/$profile/pandastack" native/pandastack; then
    install_if_changed "$target/$profile/pandastack" native/pandastack
    # An engine of the build before would go on serving; the next one takes over its sandboxes.
    native/pandastack engine stop >/dev/null 2>&1 || true
  fi
}

addon() {
  changed_since native/.built src build.rs Cargo.toml Cargo.lock crates/client crates/protocol package.json || return 0
  npm run --silent "build:native:$profile"
  echo "$profile" > native/.built
}

typescript() {
  changed_since dist/.built lib package.json tsconfig.json tsconfig.build.json scripts/write-esm-faces.mjs native/.built || return 0
  npm run --silent build:ts
  echo "$profile" > dist/.built
}

if [ "$(uname -s)" = Linux ]; then binaries; fi
addon
typescript
