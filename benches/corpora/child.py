"""Runs one way of doing one work in this process and prints one JSON line.

    python benches/corpora/child.py WORK WAY --data DIR [--threads 2] [--seconds 5]

Set-up is not counted. Whole passes are, until `--seconds` are over: the rate is all units over all the time. The first
pass warms up and is left out, unless it alone takes longer than that.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import sys
import time
from pathlib import Path

# Started as a file, in interpreters that know nothing of this package.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import measure  # noqa: E402
from corpora.works import WORKS, Pass, Task, Way  # noqa: E402


def timed(once: Pass, seconds: float) -> dict[str, float]:
    """Passes until the time is over."""
    start = time.perf_counter()
    units = once()
    spent = time.perf_counter() - start
    passes = 1
    if spent < seconds:
        units, spent, passes = 0, 0.0, 0
        while spent < seconds:
            start = time.perf_counter()
            units += once()
            spent += time.perf_counter() - start
            passes += 1
    if units == 0:
        raise RuntimeError("nothing was delivered")
    return {"rate": units / spent, "units": units / passes, "passes": passes, "seconds": round(spent, 3)}


def prepare(way: Way, threads: int) -> None:
    """Set the number of threads before imports, because libraries size their thread pools then."""
    os.sched_setaffinity(0, measure.pick_cpus(threads))
    for name in ("OMP_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if way.parallel else "false"
    # Nothing is fetched: a benchmark must not wait for a hub.
    os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", HF_DATASETS_DISABLE_PROGRESS_BARS="1")


def versions(way: Way) -> str:
    """What was measured."""
    found = []
    for package in way.packages:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{package} (no version)")
    return ", ".join(found)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", choices=list(WORKS))
    parser.add_argument("way")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0)
    args = parser.parse_args()
    ways = {way.name: way for way in WORKS[args.work].ways}
    if args.way not in ways:
        raise SystemExit(f"{args.work} has no way {args.way!r}; there are {', '.join(ways)}")
    way = ways[args.way]
    prepare(way, args.threads)
    function = getattr(importlib.import_module(f"corpora.{way.module}"), way.function)
    once = function(Task(args.data.resolve(), args.threads), **dict(way.options))
    busy, own, start = measure.machine_busy(), measure.tree_cpu(), time.perf_counter()
    found = timed(once, args.seconds)
    others = (measure.machine_busy() - busy) - (measure.tree_cpu() - own)
    line = {
        "work": args.work,
        "way": args.way,
        **found,
        "peak_mb": round(measure.tree_peak_mb()),
        "others": round(max(0.0, others) / (time.perf_counter() - start), 2),
        "versions": versions(way),
    }
    print("\n" + json.dumps(line), flush=True)
    # Some libraries hang or crash while Python tears down their threads; the measurement is done.
    os._exit(0)


if __name__ == "__main__":
    main()
