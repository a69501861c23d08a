#!/usr/bin/env bash
# The runs that are too long for `make test`: each hostile program three times beside a healthy sandbox, with a flood of 10 GB.
set -euo pipefail
cd "$(dirname "$0")/.."
export PANDASTACK_TEST_HOME=${PANDASTACK_TEST_HOME:-${PANDASTACK_HOME:-${XDG_STATE_HOME:-$HOME/.local/state}/pandastack}}
export PANDASTACK_TEST_HOSTILE_RUNS=${PANDASTACK_TEST_HOSTILE_RUNS:-3}
export PANDASTACK_TEST_HOSTILE_FLOOD_MB=${PANDASTACK_TEST_HOSTILE_FLOOD_MB:-10240}
cargo test --locked --profile fast -p pandastack-engine --test hostile -- --test-threads=1 --nocapture
