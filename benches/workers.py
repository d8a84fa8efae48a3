"""infeed's DataLoader against torch's, with worker processes and the user's Python code: `python benches/workers.py`.

The loaders take turns in one process; each number is the best of several rounds. `--jpegs FOLDER` names the images of the
first case, else they are made. `--memory` measures instead what four workers cost that read all of a long list.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data import Dataset

from infeed.torch import DataLoader


class Images(Dataset):
    """Decode with Pillow, augment with torchvision: what most training scripts do."""

    def __init__(self, folder: Path) -> None:
        from torchvision.transforms import v2

        self.paths = sorted(p for p in folder.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))
        self.transform = v2.Compose(
            [
                v2.PILToTensor(),
                v2.RandomResizedCrop(224, antialias=True),
                v2.RandomHorizontalFlip(),
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
            ]
        )

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, i: int):
        from PIL import Image

        with Image.open(self.paths[i]) as image:
            return self.transform(image.convert("RGB")), i


class Arrays(Dataset):
    """A copy of a stored array: almost all of the work is moving bytes."""

    def __init__(self, nbytes: int, rows: int) -> None:
        self.stored = np.arange(nbytes // 4, dtype=np.float32)
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, i: int):
        return torch.from_numpy(self.stored.copy())


class Dicts(Dataset):
    """Small samples: almost all of the work is overhead."""

    def __len__(self) -> int:
        return 20_000

    def __getitem__(self, i: int):
        return {"x": np.full(16, i, np.float32), "label": i % 10, "name": f"row {i}"}


class Names(Dataset):
    """A long list of strings, or a large array, of which a worker reads everything."""

    def __init__(self, kind: str) -> None:
        self.names = [f"folder/{i % 1000:04d}/image_{i:09d}.jpg" for i in range(1_000_000)] if kind == "list" else []
        self.array = np.ones(100 << 17) if kind == "array" else np.ones(1)
        # All workers have begun before one reads, and all have read before one is measured.
        self.together = multiprocessing.Barrier(4)

    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int):
        self.together.wait()
        before = pss()
        self.together.wait()
        total = sum(map(len, self.names)) + int(self.array.sum())
        self.together.wait()
        grown = pss() - before
        self.together.wait()
        return total, grown


def pss(pid: int | str = "self") -> int:
    """The proportional set size of a process: shared bytes are divided by the number of sharers."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no Pss in smaps_rollup")


def make_jpegs(folder: Path, count: int) -> None:
    from PIL import Image

    rng = np.random.default_rng(0)
    for i in range(count):
        y, x = np.mgrid[0:375, 0:500]
        pixels = np.stack([128 + 80 * np.sin(x / (20 + i % 30) + c) + 40 * np.cos(y / 31) for c in range(3)], -1)
        pixels += rng.normal(0, 10, pixels.shape)
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(folder / f"{i:05d}.jpg", quality=90)


def epoch(loader) -> float:
    """Seconds from the first batch to the last; starting workers is not counted."""
    steps = iter(loader)
    next(steps)
    start = time.perf_counter()
    for _ in steps:
        pass
    return time.perf_counter() - start


def compare(name: str, dataset: Dataset, batch: int, unit: str, per_row: float, rounds: int) -> None:
    options = {"batch_size": batch, "num_workers": 2, "persistent_workers": True}
    loaders = {"torch": TorchDataLoader(dataset, **options), "infeed": DataLoader(dataset, **options, native=False)}
    best = dict.fromkeys(loaders, float("inf"))
    for _ in range(rounds):
        for who, loader in loaders.items():
            best[who] = min(best[who], epoch(loader))
    rows = len(dataset) - batch
    rate = {who: rows * per_row / seconds for who, seconds in best.items()}
    loaders["infeed"].close()
    del loaders
    gc.collect()
    ratio = rate["infeed"] / rate["torch"]
    print(f"| {name} | {rate['torch']:,.0f} {unit} | {rate['infeed']:,.0f} {unit} | {ratio:.2f} |", flush=True)


def memory() -> None:
    warnings.filterwarnings("ignore", "This DataLoader will create")
    print("| 4 workers read all of: growth (PSS) of all | torch | infeed |\n|---|---|---|")
    for kind, what in (("list", "a list of 1,000,000 strings"), ("array", "an array of 100 MB")):
        dataset = Names(kind)
        grown = []
        for cls, more in ((TorchDataLoader, {}), (DataLoader, {"native": False})):
            # A batch size of one and as many rows as workers: each worker reads everything once.
            found = list(cls(dataset, batch_size=1, num_workers=4, multiprocessing_context="fork", **more))
            grown.append(sum(int(growth) for _, growth in found))
        print(f"| {what} | {grown[0] >> 20:+,} MB | {grown[1] >> 20:+,} MB |", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--jpegs", type=Path)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--memory", action="store_true")
    given = arguments.parse_args()
    if given.memory:
        memory()
        return
    print("| case | torch's DataLoader | infeed's DataLoader | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        if given.only in ("", "images"):
            folder = given.jpegs or Path(temporary)
            if given.jpegs is None:
                make_jpegs(folder, 512)
            compare("Pillow and torchvision, batch 64", Images(folder), 64, "images/s", 1, given.rounds)
        if given.only in ("", "arrays"):
            compare("f32 arrays of 1 MB, batch 16", Arrays(1 << 20, 1600), 16, "MB/s", 1.048576, given.rounds)
            compare("f32 arrays of 4 MB, batch 16", Arrays(4 << 20, 400), 16, "MB/s", 4.194304, given.rounds)
        if given.only in ("", "dicts"):
            compare("small dicts, batch 64", Dicts(), 64, "rows/s", 1, given.rounds)


if __name__ == "__main__":
    main()
