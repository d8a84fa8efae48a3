#!/usr/bin/env bash
# Fuzzes every parser, and every call into C, for so many seconds each: fuzz.sh SECONDS [TARGET...]
# The targets are in crates/infeed-fuzz; corpora begin with the seeds there. Coverage comes from the compiler's own
# instrumentation, so stable Rust and a C++ compiler are enough.
# SANITIZER=address adds AddressSanitizer to the Rust code and to the C libraries that are built along. The compiler of
# stable Rust has it, behind RUSTC_BOOTSTRAP. Hand-written assembler is not instrumented.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"
seeds=../crates/infeed-fuzz/seeds
seconds=${1:-60}
shift || true
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    mapfile -t targets < <(sed -n 's/.*Target { name: "\([a-z0-9]*\)".*/\1/p' ../crates/infeed-fuzz/src/lib.rs)
fi
target_dir=${CARGO_TARGET_DIR:-../target}/fuzz${SANITIZER:+-$SANITIZER}
flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
flags+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
if [ "${SANITIZER:-}" = address ]; then
    flags+=" -Zsanitizer=address"
    export RUSTC_BOOTSTRAP=1
    export CFLAGS="${CFLAGS:-} -fsanitize=address"
    # A large allocation must be an error of ours, and what C libraries keep until the end is no leak. libdeflate compiles
    # one file several times, each with its own tables of the same name: no violation, they are static.
    export ASAN_OPTIONS="allocator_may_return_null=1:detect_leaks=0:detect_odr_violation=0:${ASAN_OPTIONS:-}"
elif [ -n "${SANITIZER:-}" ]; then
    echo "SANITIZER=$SANITIZER: only address is known" >&2
    exit 2
fi
# The flags are for what is fuzzed, not for build scripts: naming the platform keeps the two apart.
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="$flags" CARGO_TARGET_DIR=$target_dir cargo build -q --release --target "$host"
mkdir -p "$target_dir/found"
for name in "${targets[@]}"; do
    corpus=$target_dir/corpus/$name
    mkdir -p "$corpus"
    dictionary=()
    if [ -f "dictionaries/$name.dict" ]; then
        dictionary=("-dict=dictionaries/$name.dict")
    fi
    echo "fuzzing $name for $seconds s"
    log=$target_dir/$name.log
    status=0
    INFEED_TARGET=$name "$target_dir/$host/release/fuzz" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3072 \
        -max_len=1048576 -verbosity=0 -print_final_stats=1 -artifact_prefix="$target_dir/found/$name-" \
        "${dictionary[@]}" "$corpus" "$seeds/$name" > "$log" 2>&1 || status=$?
    grep -E "number_of_executed_units|SUMMARY|panicked|ERROR|Test unit" "$log" || true
    if compgen -G "$target_dir/found/$name-*" > /dev/null; then
        echo "$name: found input that breaks it: $(ls "$target_dir/found/$name-"*)" >&2
        exit 1
    fi
    if [ "$status" -ne 0 ]; then
        echo "$name: ended with status $status, see $log" >&2
        exit 1
    fi
done
