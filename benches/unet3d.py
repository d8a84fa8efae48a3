"""DLIO's unet3d: samples of 140 MB in `.npz`, batches of two, a simulated step. How long does the trainer wait?

`python benches/unet3d.py [--step 0.323] [--cold] [--folder FOLDER]` writes 8 samples once and runs some epochs over them
in turns: infeed, and NumPy in torch's DataLoader with two workers, which is what DLIO runs. A step is a sleep, as in
DLIO: the trainer's work is on a device. Printed is the share of the time that the loop waited for batches, without the
first batch of each epoch and with it. With `--cold` the files are put out of the page cache before each epoch, and the
rate at which they can be read then is told: a disk that is slower than the steps makes every loader wait.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import infeed
from arrays import Files, loader

SAMPLES = 8
BYTES = 146_600_628
BATCH = 2
Waits = tuple[list[float], float]


def write(folder: Path) -> list[Path]:
    paths = [folder / f"{k}.npz" for k in range(SAMPLES)]
    for k, path in enumerate(paths):
        if not path.exists():
            data = np.random.default_rng(k).integers(0, 256, BYTES, "u1")
            np.savez(path.with_suffix(".part.npz"), x=data)
            path.with_suffix(".part.npz").rename(path)
    return paths


def drop(paths: list[Path]) -> None:
    """Puts files out of the page cache."""
    for path in paths:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def disk(paths: list[Path]) -> float:
    """MB/s of reading the files one after the other, as they lie on the disk now."""
    buffer, begun = bytearray(16 << 20), time.perf_counter()
    for path in paths:
        with path.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass
    return sum(path.stat().st_size for path in paths) / (time.perf_counter() - begun) / 1e6


def epoch(batches: Iterable[Any], step: float) -> Waits:
    """The waits for each batch, and the time of the whole epoch."""
    waits, begun = [], time.perf_counter()
    last = begun
    for batch in batches:
        x = batch["x"] if isinstance(batch, dict) else batch
        assert tuple(x.shape) == (BATCH, BYTES)
        waits.append(time.perf_counter() - last)
        time.sleep(step)
        last = time.perf_counter()
    return waits, time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the data is kept; a temporary folder otherwise")
    parser.add_argument("--step", type=float, default=0.323, help="seconds of a step")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--cold", action="store_true", help="put the files out of the page cache before each epoch")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        paths = write(folder)
        print(f"needed: {BATCH * BYTES / args.step / 1e6:.0f} MB/s")
        if args.cold:
            drop(paths)
            print(f"disk:   {disk(paths):.0f} MB/s, one reader")
        with infeed.npz(paths).shuffle(seed=1).batch(BATCH).to_torch() as ours:
            torch.manual_seed(0)
            loaders: dict[str, Iterable[Any]] = {"infeed": ours, "DataLoader": loader(Files(folder, ".npz"), BATCH)}
            for name, batches in loaders.items():
                waits, first, spent = 0.0, 0.0, 0.0
                for number in range(args.epochs + 1):
                    if args.cold:
                        drop(paths)
                    each, whole = epoch(batches, args.step)
                    # The first epoch opens files and starts workers.
                    if number:
                        waits, first, spent = waits + sum(each[1:]), first + each[0], spent + whole
                print(
                    f"{name:<12} waits {100 * waits / spent:5.1f} %, with the first batch of each epoch "
                    f"{100 * (waits + first) / spent:5.1f} % ({1000 * first / args.epochs:.0f} ms)",
                    flush=True,
                )


if __name__ == "__main__":
    main()
