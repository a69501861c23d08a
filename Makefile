.DEFAULT_GOAL := help
.PHONY: help setup build demo test try-package release soak bench lint fix clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

setup: ## Install what this machine lacks, build everything, prepare the local engine
	@scripts/setup.sh

build: ## Build the addon, the binaries and the TypeScript (part of setup)
	@scripts/build.sh

demo: setup ## From an empty machine to a chart: examples/quickstart.mjs on the local engine
	@PANDASTACK_API=local node examples/quickstart.mjs

test: setup ## Lint and run every test: Rust, TypeScript, Python; ends with "N passed, N failed"
	@scripts/setup-tests.sh
	@node scripts/test.mjs

soak: setup ## Long runs: 10,000 of each kind of the client's work, hostile programs, a flood of 10 GB, random kills, many clients
	@node __test__/soak/run.mjs
	@scripts/soak.sh

try-package: setup ## Install the package from tarballs and run it in Node.js 20 to 26, Bun, Deno and what bundlers make of it
	@node scripts/try-package.mjs

release: setup ## Build the packages as they are published, for every platform this machine can build for, into out/release
	@scripts/release.sh

bench: setup ## Measure what the design promises; prints a table
	@scripts/setup-tests.sh
	@scripts/build.sh release
	@node bench/run.mjs

lint: ## Check formatting, lints, licences and types
	@scripts/lint.sh

fix: ## Format and apply what the linters can fix
	@cargo fmt --all
	@npx biome check --write .

clean: ## Remove build output; the local engine's state stays (see `pandastack engine stop --kill`)
	@rm -rf target dist out native/*.node native/binding.* native/pandastack native/pandastack-guest node_modules .venv __test__/package/runtimes/node_modules
