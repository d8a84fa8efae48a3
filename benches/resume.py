"""How soon the first batch comes: at the start of an epoch, and resumed in its middle and near its end.

    python benches/resume.py DATA [--rounds 15]

DATA is a folder made by data.py (or by run.py, which prints where it keeps it). Every measurement opens the data again,
as a restarted job does: open, load the state, first batch. The three take turns, the best of each counts.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path

import infeed
from infeed import transforms as T

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def pipeline(data: Path) -> infeed.Pipeline:
    """The training pipeline."""
    return (
        infeed.open(str(data / "photos" / "*.tar"))
        .shuffle(seed=1)
        .decode(jpg="rgb", cls="int")
        .map(T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.Normalize(MEAN, STD), on="jpg")
        .batch(64)
    )


def first_batch(data: Path, state: dict[str, object] | None) -> float:
    """Seconds from nothing to the first batch."""
    start = time.perf_counter()
    loader = pipeline(data).to_numpy(rank=0, world_size=1)
    if state is not None:
        loader.load_state_dict(state)
    next(iter(loader))
    taken = time.perf_counter() - start
    loader.close()
    return taken


def main() -> None:
    """Measure and print one table and one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    loader = pipeline(args.data).to_numpy(rank=0, world_size=1)
    steps = len(loader)
    states: dict[str, dict[str, object] | None] = {"start": None}
    for step, _ in enumerate(itertools.islice(loader, steps - 3), start=1):
        if step == steps // 2:
            states["middle"] = loader.state_dict()
    states["near the end"] = loader.state_dict()
    loader.close()
    best = dict.fromkeys(states, float("inf"))
    for _ in range(args.rounds):
        for name, state in states.items():
            best[name] = min(best[name], first_batch(args.data, state))
    print(
        f"| from | first batch, ms | ratio (at most 1.2) |\n|---|---:|---:|\n| start | {best['start'] * 1e3:.1f} | |"
    )
    for name in list(states)[1:]:
        ratio = best[name] / best["start"]
        print(f"| {name} | {best[name] * 1e3:.1f} | {ratio:.2f} {'ok' if ratio <= 1.2 else 'SHORT'} |")
    print(json.dumps(best))


if __name__ == "__main__":
    main()
