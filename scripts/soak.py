"""Kill, resume, rescale, damage and disturb pipelines for a given time, and prove after every round that no row was lost.

    python scripts/soak.py --minutes 60 [--memory-limit 4GB] [--seed 0]

Every round is a training job over one format. Its process is killed and resumed at another world size; some rounds read
damaged data, some have faults injected under ``read`` and ``pread`` by a C library, some run in chaos mode. A round
passes if every row came exactly once or is named as bad. Between the rounds this process reads every format itself. Its
memory, open descriptors and threads are measured after every round; a slope significantly above zero fails the soak.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from soaking import data, life
from soaking.rounds import Round, in_this_process
from soaking.slope import FEWEST, slope_of

from infeed.doors.memory import in_bytes

FAULTS = Path(__file__).parent.parent / "tests" / "native" / "faults.c"
WARM_UP = 5
"""Rounds that are not measured, at least: libraries are loaded, caches and pools grow to their size."""


def measure() -> dict[str, float]:
    """What this process has, after everything that can be given back was given back."""
    gc.collect()
    if hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "RSS (KiB)": pages * os.sysconf("SC_PAGE_SIZE") / 1024,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
    }


def soak(minutes: float, seed: int, memory_limit: int, scratch: Path) -> bool:
    """Run rounds until the time is over; returns whether all is well."""
    library = scratch / "faults.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, FAULTS, "-ldl"], check=True)
    data.write(scratch / "data")
    os.environ["INFEED_CACHE"] = str(scratch / "cache")
    os.environ.pop("INFEED_CHAOS", None)
    end, number = time.monotonic() + minutes * 60, 0
    counts: Counter[str] = Counter()
    series: list[dict[str, float]] = []
    failures = 0
    while time.monotonic() < end:
        plan = Round.choose(number, seed, scratch / "data", memory_limit)
        start = time.monotonic()
        try:
            told = plan.play(scratch, library, counts)
            counts["rows"] += in_this_process(scratch / "data", number, seed, memory_limit)
        except Exception as error:
            failures += 1
            told = f"FAILED (seed {seed}): {error}"
            traceback.print_exc()
        number += 1
        series.append(measure())
        now = ", ".join(f"{name} {value:.0f}" for name, value in series[-1].items())
        print(f"round {number}: {plan}: {told}; {time.monotonic() - start:.1f} s; {now}", flush=True)
    return report(number, counts, series, failures)


def report(number: int, counts: Counter[str], series: list[dict[str, float]], failures: int) -> bool:
    """Print what was done, and the verdict."""
    print(f"{number} rounds, {failures} failed; " + ", ".join(f"{count:,} {name}" for name, count in counts.items()))
    measured = series[max(WARM_UP, len(series) // 5) :]
    if len(measured) < FEWEST:
        print(f"verdict: FAIL, because {len(measured)} rounds after the warm-up say nothing of a slope: run longer")
        return False
    slopes = [slope_of(name, [point[name] for point in measured]) for name in measured[0]]
    print(*slopes, sep="\n")
    passed = not failures and not any(slope.grows for slope in slopes)
    print(f"verdict: {'pass' if passed else 'FAIL'}")
    return passed


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="how long")
    parser.add_argument("--seed", type=int, default=0, help="chooses what happens in the rounds")
    parser.add_argument(
        "--memory-limit", default="4GB", help="address space of each job; its loaders get an eighth of it"
    )
    parser.add_argument("--life", nargs=2, metavar=("JOB", "OUT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.life:
        life.main(*options.life)
        return 0
    limit = in_bytes(options.memory_limit)
    if limit is None or options.minutes <= 0:
        parser.error("--minutes and --memory-limit must be above zero")
    with tempfile.TemporaryDirectory(prefix="infeed-soak-") as scratch:
        return 0 if soak(options.minutes, options.seed, limit, Path(scratch)) else 1


if __name__ == "__main__":
    sys.exit(main())
