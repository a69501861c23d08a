#!/usr/bin/env bash
# Builds the packages as they are published, for every platform that this machine can build for, into out/release.
# Usage: scripts/release.sh [PLATFORM]…   PLATFORM as in @pandastack/sdk-<PLATFORM>; default: every one whose Rust target is installed
# Slow: link-time optimisation. Publish what comes out in the order in which it is printed: the main package last.
set -euo pipefail
cd "$(dirname "$0")/.."
out=out/release
target_dir=${CARGO_TARGET_DIR:-target}
step() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }

# zig links against an old glibc whatever this machine has, and links for other machines too.
zig() {
  [ -x out/zig/bin/cargo-zigbuild ] || { python3 -m venv out/zig && out/zig/bin/pip install --quiet --disable-pip-version-check ziglang==0.17.1 cargo-zigbuild==0.24.1; }
  export PATH="$PWD/out/zig/bin:$PATH"
}

installed() { [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ]; }
target_of() { node -e 'import("./scripts/platforms.mjs").then(({ PLATFORMS }) => console.log(PLATFORMS.find((p) => p.name === process.argv[1])?.target ?? ""))' "$1"; }
all_platforms() { node -e 'import("./scripts/platforms.mjs").then(({ PLATFORMS }) => console.log(PLATFORMS.map((p) => p.name).join("\n")))'; }

release() { cargo "$@" --release --locked --quiet; }

build_linux() { # platform, target, folder
  case $1 in
    *-gnu)
      release zigbuild -p pandastack-sdk -p pandastack-cli --target "$2.2.17"
      cp "$target_dir/$2/release/libpandastack_sdk.so" "$3/pandastack.$1.node" ;;
    *-musl)
      # An addon is a shared library and uses the C library of the Node.js that loads it; the binary brings its own.
      RUSTFLAGS="-C target-feature=-crt-static" release zigbuild -p pandastack-sdk --target "$2" --target-dir "$target_dir/shared"
      cp "$target_dir/shared/$2/release/libpandastack_sdk.so" "$3/pandastack.$1.node"
      release zigbuild -p pandastack-cli --target "$2" ;;
  esac
  cp "$target_dir/$2/release/pandastack" "$3/pandastack"
  # The agent is static and so the same for both C libraries.
  local agent=${2/-musl/-gnu}
  RUSTFLAGS="-C target-feature=+crt-static" release build -p pandastack-guest --target "$agent" --target-dir "$target_dir/guest"
  cp "$target_dir/guest/$agent/release/pandastack-guest" "$3/pandastack-guest"
  node scripts/check-binaries.mjs "$1" "$3"
}

build_other() { # platform, target, folder
  case $1 in
    darwin-*) release zigbuild -p pandastack-sdk --target "$2"; cp "$target_dir/$2/release/libpandastack_sdk.dylib" "$3/pandastack.$1.node" ;;
    win32-*) release xwin build -p pandastack-sdk --target "$2"; cp "$target_dir/$2/release/pandastack_sdk.dll" "$3/pandastack.$1.node" ;;
  esac
}

zig
rm -rf "$out" dist
mkdir -p "$out"
scripts/build.sh
builds=()
for platform in ${*:-$(all_platforms)}; do
  target=$(target_of "$platform")
  [ -n "$target" ] || { echo "error: no such platform: \`$platform\`; there are: $(all_platforms | tr '\n' ' ')" >&2; exit 1; }
  if ! installed "$target"; then
    [ $# -eq 0 ] || { echo "error: the Rust target of $platform is missing; run: rustup target add $target" >&2; exit 1; }
    echo "note: $platform is left out; to build it: rustup target add $target" >&2
    continue
  fi
  step "Building $platform"
  folder=$out/build/$platform
  mkdir -p "$folder"
  case $platform in linux-*) build_linux "$platform" "$target" "$folder" ;; *) build_other "$platform" "$target" "$folder" ;; esac
  builds+=("$platform=$folder")
done
step "Packing"
node scripts/pack.mjs "$out" "${builds[@]}"
