#!/usr/bin/env bash
# Looks for data races: runs the tests of the engine, of the stores and of the tables' cache under ThreadSanitizer.
# Usage: races.sh [TEST...]
# Needs nightly Rust with its source (rustup toolchain install nightly --component rust-src): std is built along, because
# the sanitizer must see its locks. C libraries are not instrumented.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(rustc -vV | sed -n 's/^host: //p')
tests=("$@")
if [ ${#tests[@]} -eq 0 ]; then
    tests=(engine:: batch:: store:: read:: stream:: block:: reserve::)
fi
export RUSTFLAGS="-Zsanitizer=thread ${RUSTFLAGS:-}"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/races
export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1:${TSAN_OPTIONS:-}"
cargo +nightly test -q -Zbuild-std --target "$host" -p infeed -p infeed-table --lib -- "${tests[@]}"
