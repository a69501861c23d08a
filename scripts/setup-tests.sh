#!/usr/bin/env bash
# The Python environment of the tests: pytest, what the kernel imports, and the official Python SDK.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! cmp -s __test__/python/requirements.txt .venv/.installed-requirements 2>/dev/null; then
  printf '\033[1m==>\033[0m Preparing the Python environment of the tests\n' >&2
  rm -rf .venv
  python3 -m venv .venv
  .venv/bin/pip install --quiet --disable-pip-version-check -r __test__/python/requirements.txt
  cp __test__/python/requirements.txt .venv/.installed-requirements
fi
