"""What is measured of infeed alone. Each measurement runs in a process of its own and prints one JSON line.

python infeed_extra.py first  --data DIR    time to the first batch, with and without the import
python infeed_extra.py memory --data DIR    peak memory of the train work, and its growth over --epochs
python infeed_extra.py python --data DIR    what one `next()` costs when its batch is finished already
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import time
from pathlib import Path

import measure
from works import Task

STARTED = time.perf_counter()


def first(task: Task) -> dict[str, float]:
    """From nothing to the first batch. Called in a new folder first, where no index can be."""
    import infeed_runner

    imported = time.perf_counter()
    batch = next(iter(infeed_runner.loader(task)))
    done = time.perf_counter()
    assert len(batch["cls"]) == task.batch
    return {"first_s": done - imported, "first_with_import_s": done - STARTED}


def memory(task: Task, *, epochs: int) -> dict[str, float]:
    """Resident memory after each epoch; growth counts from the second one: the first fills pools."""
    import infeed_runner

    loader = infeed_runner.loader(task)
    resident = []
    for _ in range(epochs):
        for batch in loader:
            del batch
        gc.collect()
        resident.append(measure.memory_mb("VmRSS"))
    base, last = statistics.median(resident[1:4]), statistics.median(resident[-3:])
    return {
        "peak_mb": measure.memory_mb("VmHWM"),
        "rss_mb": last,
        "growth_percent": 100 * (last - base) / base,
    }


def python(task: Task, *, rounds: int = 60, calls: int = 4) -> dict[str, float]:
    """Microseconds per `next()` for a dictionary of two fields.

    The pause lets the prefetch queue fill, so that the few calls after it never wait; a round that did wait
    (because another process took the CPU) is an outlier that the median ignores. The first call after the pause
    is not counted: the CPU wakes from its sleep then, and even an empty function costs 20 us.
    """
    import infeed
    import infeed_runner

    pattern = infeed_runner.shard_pattern(task.data / "small")
    loader = infeed.open(pattern).decode(cls="int").batch(1, drop_last=True).to_numpy(threads=task.threads)
    batches = iter(loader)
    assert len(next(batches)) >= 2
    costs = []
    for _ in range(rounds):
        time.sleep(0.02)
        for _ in range(calls):
            begun = time.perf_counter()
            batch = next(batches)
            costs.append((time.perf_counter() - begun) * 1e6)
            del batch
        del costs[-calls]
    return {"next_us": statistics.median(costs), "next_us_best": min(costs)}


def main() -> None:
    """Run one measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("first", "memory", "python"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=20, help="epochs of the memory measurement")
    args = parser.parse_args()
    os.sched_setaffinity(0, measure.pick_cpus(args.threads))
    task = Task("train", args.data.absolute(), args.threads)
    if args.what == "memory":
        found = memory(task, epochs=args.epochs)
    else:
        found = first(task) if args.what == "first" else python(task)
    print("\n" + json.dumps({"extra": args.what, **{k: round(v, 4) for k, v in found.items()}}), flush=True)


if __name__ == "__main__":
    main()
