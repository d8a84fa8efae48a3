"""infeed's DataLoader against torch's, with the user's own Python data set: `python benches/workers.py`.

Both loaders have the same arguments and take turns in one process, the first one changing with each round. A number is
the best of all rounds; a ratio above 1 says that infeed is faster. `--only WORD` runs the cases with that word in their
name. `--jpegs FOLDER` names the images of one case, else they are made. `--memory` measures the peak memory of both
loaders and their workers instead.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader as TorchDataLoader

import tree_memory
from infeed.torch import DataLoader
from own_sets import Dicts, Floats, Images, Scalars, Stream, make_jpegs

#: Short epochs are repeated for so many seconds, at most so often.
SECONDS, MOST = 3.0, 300


@dataclass
class Times:
    """Seconds of one epoch."""

    first: float
    """From `iter()` to the first batch: starts the workers, unless they are there."""
    rest: float
    """From the first batch to the last."""
    whole: float
    """From `iter()` to the end, with workers that are not persistent ended."""


@dataclass
class Case:
    """A data set, and how it is loaded."""

    name: str
    make: Callable[[], Any]
    batch: int
    workers: tuple[int, ...] = (0, 2)


def epoch(loader: Any) -> Times:
    start = time.perf_counter()
    steps = iter(loader)
    next(steps)
    first = time.perf_counter()
    for _ in steps:
        pass
    last = time.perf_counter()
    del steps
    return Times(first - start, last - first, time.perf_counter() - start)


def turns(loaders: dict[str, Any], rounds: int) -> dict[str, list[Times]]:
    """The epochs of each loader, in turns."""
    found: dict[str, list[Times]] = {who: [] for who in loaders}
    names = list(loaders)
    end = time.perf_counter() + SECONDS
    i = 0
    while i <= rounds or (time.perf_counter() < end and i < MOST):
        for who in names if i % 2 == 0 else reversed(names):
            gc.collect()
            times = epoch(loaders[who])
            # The first epoch warms caches up, and of persistent workers it is the only one that starts them.
            if i:
                found[who].append(times)
        i += 1
    return found


def compare(case: Case, workers: int, persistent: bool, rounds: int) -> str:
    options: dict[str, Any] = {"batch_size": case.batch, "num_workers": workers, "persistent_workers": persistent}
    if workers:
        options["multiprocessing_context"] = "fork"
    # The same data set object: where its memory lies matters at this scale.
    dataset = case.make()
    loaders = {"torch": TorchDataLoader(dataset, **options), "infeed": DataLoader(dataset, **options)}
    found = turns(loaders, rounds)
    loaders["infeed"].close()
    del loaders
    gc.collect()
    cells = []
    for part in ("rest", "whole", "first"):
        times = {who: [getattr(t, part) for t in all_times] for who, all_times in found.items()}
        best = {who: min(values) for who, values in times.items()}
        pairs = statistics.median(a / b for a, b in zip(times["torch"], times["infeed"], strict=True))
        shown = [f"{seconds * 1e3:,.{1 if seconds < 0.1 else 0}f}" for seconds in best.values()]
        cells.append(f"{' | '.join(shown)} | {best['torch'] / best['infeed']:.2f} ({pairs:.2f})")
    kind = "none" if workers == 0 else f"{workers}, persistent" if persistent else f"{workers}, new"
    return f"| {case.name}, batch {case.batch} | {kind} | {' | '.join(cells)} |"


def cases(folder: Path) -> Iterator[Case]:
    yield Case("scalars", lambda: Scalars(40_000), 64)
    yield Case("scalars", lambda: Scalars(3_000), 1)
    yield Case("scalars, a short epoch", lambda: Scalars(640), 64)
    yield Case("f32 3x224x224", lambda: Floats((3, 224, 224), 1000), 32)
    yield Case("f32 of 4 MB", lambda: Floats((1 << 20,), 200), 8)
    yield Case("dicts of tensors and text", lambda: Dicts(20_000), 64)
    yield Case("Pillow and torchvision", lambda: Images(folder), 32)
    yield Case("iterable", lambda: Stream(30_000), 64)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--jpegs", type=Path)
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--workers", type=int, nargs="+", default=[0, 2])
    arguments.add_argument("--memory", action="store_true")
    given = arguments.parse_args()
    warnings.filterwarnings("ignore", "This DataLoader will create")
    if given.memory:
        tree_memory.measure()
        return
    print(
        f"torch {torch.__version__}; ms, best of all rounds; ratio of these (and the median of the rounds' ratios)\n"
    )
    columns = [f"{part}: torch | infeed | ratio" for part in ("after the first batch", "whole epoch", "first batch")]
    print(f"| case | workers | {' | '.join(columns)} |\n|{'---|' * 11}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.jpegs or Path(temporary)
        if given.jpegs is None and given.only in "Pillow and torchvision":
            make_jpegs(folder, 256)
        for case in cases(folder):
            if given.only not in case.name:
                continue
            for workers in given.workers:
                for persistent in (False, True) if workers else (False,):
                    print(compare(case, workers, persistent, given.rounds), flush=True)


if __name__ == "__main__":
    main()
