"""How fast the arrays of a weighted blend are made: infeed against plain C++ loops.

    cargo build --release -p infeed-order --example blend_indices
    python benches/blend.py [--size 10000000] [--weights 0.5371,0.2914,0.1715] [--rounds 5] [--binary PATH]

Both take turns; a round is the best of five, and the table has the best round. Both write the part (i16) and the sample
(i64) of each place into existing arrays, and the results are compared by a checksum. If Megatron's compiled helper can be
imported (`megatron-core` installed), it takes part, too.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
Fill = Callable[[np.ndarray, np.ndarray], None]


def reference(weights: np.ndarray, folder: str) -> Fill:
    """The C++ loops, compiled."""
    library = Path(folder) / "blend_reference.so"
    flags = ["-O3", "-std=c++17", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run(["g++", *flags, str(HERE / "blend_reference.cpp"), "-o", str(library)], check=True)
    call = ctypes.CDLL(str(library)).blend_reference
    call.restype = None

    def fill(parts: np.ndarray, samples: np.ndarray) -> None:
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (weights, parts, samples)]
        call(pointers[0], ctypes.c_int32(len(weights)), ctypes.c_int64(len(parts)), *pointers[1:])

    return fill


def megatron(weights: np.ndarray) -> Fill | None:
    """Megatron's own helper, if it is installed."""
    try:
        from megatron.core.datasets import helpers_cpp
    except ImportError:
        return None
    return lambda parts, samples: helpers_cpp.build_blending_indices(
        parts, samples, weights, len(weights), len(parts), False
    )


def best_of_five(fill: Fill, parts: np.ndarray, samples: np.ndarray) -> float:
    """Seconds."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        fill(parts, samples)
        times.append(time.perf_counter() - start)
    return min(times)


def checksum(parts: np.ndarray, samples: np.ndarray) -> int:
    """The same as in the example program: modulo 2^64."""
    place = np.arange(1, len(parts) + 1, dtype=np.uint64)
    terms = place * (parts.astype(np.uint64) + 1) + samples.astype(np.uint64) * (place ^ np.uint64(7))
    return int(terms.sum(dtype=np.uint64))


def main() -> None:
    """Print one line per runner."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
    parser.add_argument("--size", type=int, default=10_000_000)
    parser.add_argument("--weights", default="0.5371,0.2914,0.1715")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--binary", type=Path, default=target / "release/examples/blend_indices")
    args = parser.parse_args()
    weights = np.array([float(weight) for weight in args.weights.split(",")])
    weights /= weights.sum()
    parts, samples = np.zeros(args.size, np.int16), np.zeros(args.size, np.int64)
    best: dict[str, float] = {}
    sums: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        fills: dict[str, Fill | None] = {"C++ loops": reference(weights, folder), "Megatron": megatron(weights)}
        for _ in range(args.rounds):
            command = [str(args.binary), str(args.size), args.weights]
            answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            best["infeed"] = min(best.get("infeed", np.inf), answer["filled"])
            best["infeed, new arrays"] = min(best.get("infeed, new arrays", np.inf), answer["made"])
            sums["infeed"] = answer["checksum"]
            for name, fill in fills.items():
                if fill is not None:
                    best[name] = min(best.get(name, np.inf), best_of_five(fill, parts, samples))
                    sums[name] = checksum(parts, samples)
    print(f"{args.size} samples, {len(weights)} parts; best of {args.rounds} rounds of five")
    for name, seconds in best.items():
        ratio = seconds / best["infeed"]
        print(f"{name:<20}{seconds * 1e3:9.1f} ms{seconds / args.size * 1e9:8.2f} ns per sample{ratio:8.2f} x infeed")
    if len(set(sums.values())) != 1:
        raise SystemExit(f"the arrays differ: {sums}")
    print("all arrays are equal")


if __name__ == "__main__":
    main()
