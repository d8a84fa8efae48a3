"""An existing training loop, with and without infeed: torchvision's ImageFolder, transforms v2 and a torch DataLoader.

    python benches/dropin.py [FOLDER]

FOLDER has class folders of images; without it photo-like JPEGs are made. torch's DataLoader runs with several numbers of
persistent worker processes; infeed takes over the same DataLoader and runs it on its threads. All of them take turns in
each round, and the best round of each counts. An epoch is timed from its start to the last batch received.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import infeed
import infeed.torch

TRAIN = v2.Compose(
    [
        v2.RandomResizedCrop(224),
        v2.RandomHorizontalFlip(),
        v2.ToImage(),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ]
)


def make_photos(root: Path, count: int) -> None:
    """JPEGs with smooth colours, edges and grain, of about 500x400."""
    rng = np.random.default_rng(0)
    for i in range(count):
        folder = root / f"class{i % 10}"
        folder.mkdir(exist_ok=True)
        width, height = (int(side) for side in rng.integers(350, 600, 2))
        small = rng.integers(0, 256, (9, 12, 3), dtype=np.uint8)
        smooth = np.asarray(Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC), dtype=np.int16)
        grain = rng.normal(0, 10, (height, width, 1)).astype(np.int16)
        Image.fromarray(np.clip(smooth + grain, 0, 255).astype(np.uint8)).save(folder / f"{i}.jpg", quality=90)


def rate(way: Callable[[], Iterable[Any]]) -> float:
    """Images per second of one epoch, its start included."""
    start = time.perf_counter()
    images = sum(len(batch[1]) for batch in way())
    return images / (time.perf_counter() - start)


def measure(root: str, args: argparse.Namespace) -> dict[str, float]:
    """Images per second of every way, best of its rounds."""
    data = ImageFolder(root, transform=TRAIN)
    # A folder of few images is repeated within one epoch, so that an epoch is long enough.
    data.samples = data.samples * max(1, -(-args.images // len(data.samples)))
    ways: dict[str, Callable[[], Iterable[Any]]] = {}
    for workers in args.workers:
        loader = DataLoader(data, args.batch, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
        ways[f"torch, num_workers={workers}"] = loader.__iter__
    ours = infeed.torch.DataLoader(data, args.batch, shuffle=True, native=True)
    print(ours.explain(), end="\n\n")
    ways[f"infeed, {infeed.usable_cpus()} threads"] = ours.__iter__
    best = dict.fromkeys(ways, 0.0)
    for _ in range(args.rounds):
        for name, way in ways.items():
            best[name] = max(best[name], rate(way))
    ours.close()
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", help="folder of class folders; made when not given")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--images", type=int, default=1500, help="at least so many per epoch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2, 4])
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    with tempfile.TemporaryDirectory() as place:
        if args.folder is None:
            make_photos(Path(place), 300)
        best = measure(args.folder or place, args)
    torchs = max(value for name, value in best.items() if name.startswith("torch"))
    print(
        f"torch {torch.__version__}, {infeed.usable_cpus()} CPUs, best of {args.rounds} rounds, batch {args.batch}\n"
    )
    for name, value in best.items():
        print(f"{name:24} {value:8.0f} images/s  {value / torchs:5.2f} x torch's best")


if __name__ == "__main__":
    main()
