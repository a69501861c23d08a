#!/usr/bin/env bash
# Formatting, lints, licences, types. Every check runs, also after one failed.
set -uo pipefail
cd "$(dirname "$0")/.."
[ -d node_modules ] || { echo "error: node_modules is missing; run: make setup" >&2; exit 1; }
failed=()
check() { local name=$1; shift; "$@" || failed+=("$name"); }
check rustfmt cargo fmt --all --check
check clippy cargo clippy --quiet --locked --profile fast --workspace --all-targets -- -D warnings
check biome npx --no-install biome ci --colors=off --error-on-warnings --max-diagnostics=30 .
check types npx --no-install tsc --noEmit -p tsconfig.json
check arrows node scripts/check-arrows.mjs
check "wire types" node scripts/write-wire-types.mjs --check
check "public types" node scripts/write-api.mjs --check
check typedoc npx --no-install typedoc --emit none --logLevel Warn
check package node scripts/check-package.mjs
if command -v cargo-deny >/dev/null 2>&1; then
  check cargo-deny cargo deny --locked --log-level error check licenses bans sources
else
  echo "note: cargo-deny is not installed (cargo install cargo-deny); licences were not checked" >&2
fi
[ ${#failed[@]} -eq 0 ] || { echo "lint failed: ${failed[*]}" >&2; exit 1; }
