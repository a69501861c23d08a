#!/usr/bin/env bash
# The runs that are too long for `make test`: each hostile program three times beside a healthy sandbox that must answer within a second, with a flood
# of 10 GB; 300 random operations with 40 kills, three times; 64 sandboxes and 16 clients for two minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
export PANDASTACK_TEST_HOME=${PANDASTACK_TEST_HOME:-${PANDASTACK_HOME:-${XDG_STATE_HOME:-$HOME/.local/state}/pandastack}}
export PANDASTACK_TEST_HOSTILE_RUNS=${PANDASTACK_TEST_HOSTILE_RUNS:-3}
export PANDASTACK_TEST_HOSTILE_FLOOD_MB=${PANDASTACK_TEST_HOSTILE_FLOOD_MB:-10240}
export PANDASTACK_TEST_HOSTILE_PATIENCE_MS=${PANDASTACK_TEST_HOSTILE_PATIENCE_MS:-1000}
cargo test --locked --profile fast -p pandastack-engine --test hostile -- --test-threads=1 --nocapture
for run in $(seq "$PANDASTACK_TEST_HOSTILE_RUNS"); do
  printf '\033[1m==>\033[0m Hostile sandboxes and connections, run %s of %s\n' "$run" "$PANDASTACK_TEST_HOSTILE_RUNS" >&2
  cargo test --locked --profile fast -p pandastack-engine --lib guest::tests::liar
  npx --no-install vitest run --project engine __test__/engine/{egress,secret,isolation}.test.ts
done

export PANDASTACK_TEST_CHAOS_OPERATIONS=${PANDASTACK_TEST_CHAOS_OPERATIONS:-300}
export PANDASTACK_TEST_CHAOS_KILLS=${PANDASTACK_TEST_CHAOS_KILLS:-40}
for run in 1 2 3; do
  printf '\033[1m==>\033[0m Chaos, run %s of 3\n' "$run" >&2
  npx --no-install vitest run --project engine __test__/engine/chaos.test.ts
done

export PANDASTACK_TEST_MANY_CLIENTS=${PANDASTACK_TEST_MANY_CLIENTS:-16}
export PANDASTACK_TEST_MANY_SANDBOXES=${PANDASTACK_TEST_MANY_SANDBOXES:-64}
export PANDASTACK_TEST_MANY_SECONDS=${PANDASTACK_TEST_MANY_SECONDS:-120}
npx --no-install vitest run --project engine __test__/engine/many-clients.test.ts
