#!/usr/bin/env bash
# Checks the usual combinations of features: each must compile without warnings.
set -euo pipefail
cd "$(dirname "$0")/.."

for features in "" arrays images tables text,tokens images,tables images,remote images,tables,text,tokens; do
    for crate in infeed infeed-cli; do
        echo "$crate with ${features:-no features}"
        # Clippy instead of `check`: it takes `-D warnings` without building every dependency once more.
        cargo clippy -q --no-deps -p "$crate" --no-default-features --features "$features" -- -D warnings
    done
done
