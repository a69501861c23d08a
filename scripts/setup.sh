#!/usr/bin/env bash
# Installs what this machine lacks, builds everything and prepares the local engine. Does nothing that is already done.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
fail() { printf 'error: %s\n' "$1" >&2; shift; printf '  %s\n' "$@" >&2; exit 1; }
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -1)" = "$1" ]; }

need() { # name, version found (may be empty), version needed, how to get it
  if [ -z "$2" ]; then fail "$1 is missing; $3 or newer is needed" "$4"; fi
  at_least "$3" "$2" || fail "$1 $2 is too old; $3 or newer is needed" "$4"
}

version_of() { command -v "$1" >/dev/null 2>&1 && "$@" 2>/dev/null | grep -oE '[0-9]+\.[0-9]+(\.[0-9]+)?' | head -1 || true; }

toolchains() {
  need Rust "$(version_of rustc --version)" 1.95 "Get it with rustup: https://rustup.rs"
  need Node.js "$(version_of node --version)" 20.19 "Get it from https://nodejs.org"
  if ! command -v runsc >/dev/null 2>&1 && [ ! -x "${PANDASTACK_HOME:-${XDG_STATE_HOME:-$HOME/.local/state}/pandastack}/bin/runsc" ] && [ -z "${PANDASTACK_RUNSC:-}" ]; then
    local go; go=$(version_of go version)
    [ -z "$go" ] || at_least 1.26 "$go" || printf 'note: Go %s is too old to build runsc (1.26.3 is needed); the official release is downloaded instead\n' "$go" >&2
  fi
}

system_packages() {
  [ "$(uname -s)" = Linux ] || return 0
  local missing=()
  command -v mmdebstrap >/dev/null 2>&1 || missing+=(mmdebstrap)
  command -v mkfs.erofs >/dev/null 2>&1 || missing+=(erofs-utils)
  command -v cc >/dev/null 2>&1 || missing+=(build-essential)
  command -v git >/dev/null 2>&1 || missing+=(git)
  python3 -c 'import venv, ensurepip' >/dev/null 2>&1 || missing+=(python3-venv)
  [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing+=(debian-archive-keyring)
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! command -v apt-get >/dev/null 2>&1; then
    fail "packages are missing: ${missing[*]}" "This is not Debian or Ubuntu: install them with your package manager and run again"
  fi
  if [ "$(id -u)" -ne 0 ]; then
    fail "packages are missing and need root: ${missing[*]}" "Run: sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}"
  fi
  step "Installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

npm_packages() {
  cmp -s package-lock.json node_modules/.installed-lock 2>/dev/null && return 0
  step "Installing npm packages"
  npm ci --no-audit --no-fund --loglevel=error
  cp package-lock.json node_modules/.installed-lock
}

toolchains
system_packages
npm_packages
step "Building (the first time takes some minutes)"
scripts/build.sh
[ "$(uname -s)" = Linux ] || { step "The local engine needs Linux; the SDK itself is ready"; exit 0; }
step "Preparing the local engine"
native/pandastack engine setup
