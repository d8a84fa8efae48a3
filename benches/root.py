"""Flat branches of a ROOT file: infeed with two threads against `uproot.iterate`, in turns.

`python benches/root.py [--entries 10000000] [--folder FOLDER]` writes ten branches (float32, zstd) once, has both read
all of them a few times, and prints million entries per second, the best of the rounds, and the ratio. The file is in the
page cache. Both give arrays of this machine's byte order, and one element of each is touched.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import uproot

import infeed

BRANCHES = 10
BASKET = 100_000
BATCH = 100_000


def write(path: Path, entries: int) -> None:
    """Numbers as measurements are: rounded, and around a mean."""
    rng = np.random.default_rng(1)
    names = [f"x{k}" for k in range(BRANCHES)]
    with uproot.recreate(path, compression=uproot.ZSTD(1)) as file:
        file.mktree("events", {name: np.dtype("f4") for name in names})
        for first in range(0, entries, BASKET):
            count = min(BASKET, entries - first)
            rows = np.round(rng.normal(50, 10, (BRANCHES, count)) * 64).astype("f4") / 64
            file["events"].extend(dict(zip(names, rows, strict=True)))


def ours(path: Path) -> float:
    """All entries through a pipeline."""
    total = 0.0
    for batch in infeed.root(path).batch(BATCH).to_numpy(threads=2):
        total += sum(float(column[0]) for column in batch.values())
    return total


def theirs(path: Path) -> float:
    """All entries through uproot."""
    total = 0.0
    for batch in uproot.iterate(f"{path}:events", step_size=BATCH, library="np"):
        total += sum(float(column[0]) for column in batch.values())
    return total


def timed(read: Callable[[Path], float], path: Path) -> tuple[float, float]:
    """Seconds, and what was read."""
    begun = time.perf_counter()
    total = read(path)
    return time.perf_counter() - begun, total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        path = Path(folder) / "events.root"
        write(path, args.entries)
        print(f"{args.entries} entries x {BRANCHES} float32, zstd, {path.stat().st_size / 1e6:.0f} MB in the file")
        best = {"infeed": float("inf"), "uproot": float("inf")}
        for _ in range(args.rounds):
            (mine, found), (other, wanted) = timed(ours, path), timed(theirs, path)
            if found != wanted:
                raise SystemExit(f"infeed read {found} and uproot {wanted}")
            best = {"infeed": min(best["infeed"], mine), "uproot": min(best["uproot"], other)}
    rates = {name: args.entries / spent / 1e6 for name, spent in best.items()}
    print("   ".join(f"{name} {rate:.1f} M entries/s" for name, rate in rates.items()))
    print(f"ratio {rates['infeed'] / rates['uproot']:.2f}")


if __name__ == "__main__":
    main()
