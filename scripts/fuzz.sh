#!/usr/bin/env bash
# Fuzzes every handwritten parser for SECONDS each: fuzz.sh SECONDS [TARGET...]
# Coverage comes from the compiler's own instrumentation, so stable Rust and a C++ compiler are enough.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"
seconds=${1:-60}
shift || true
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    mapfile -t targets < <(sed -n 's/^name = "\(.*\)"$/\1/p' Cargo.toml | tail -n +2)
fi
target_dir=${CARGO_TARGET_DIR:-../target}/fuzz
flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
flags+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
# The flags must not apply to build scripts: with an explicit --target they do not.
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="$flags" CARGO_TARGET_DIR=$target_dir cargo build -q --release --target "$host" "${targets[@]/#/--bin=}"
for name in "${targets[@]}"; do
    corpus=$target_dir/corpus/$name
    mkdir -p "$corpus" "$target_dir/found"
    echo "fuzzing $name for $seconds s"
    "$target_dir/$host/release/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 \
        -verbosity=0 -print_final_stats=1 -artifact_prefix="$target_dir/found/$name-" "$corpus" 2>&1 |
        grep -E "number_of_executed_units|SUMMARY|panicked|ERROR|Test unit" || true
    if compgen -G "$target_dir/found/$name-*" > /dev/null; then
        echo "$name: found input that breaks it: $(ls "$target_dir/found/$name-"*)" >&2
        exit 1
    fi
done
