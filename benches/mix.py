"""What mixing batches and several views of an image cost: infeed against torchvision.

    python benches/mix.py [--images FOLDER] [--rows 1024] [--rounds 3] [--batch 256]

MixUp: batches [256, 3, 224, 224] f32 with and without it; what it adds to a batch is the difference. torchvision's MixUp
gets a batch that infeed made, with one thread and with torch's default number of threads.

Views: 2 crops of 224 and 6 of 96 of each JPEG (resized, flipped, normalised, stacked to f32 batches), one thread each;
torchvision's transforms work on a PIL image that is decoded once. Then the same with a block mask of 14x14 patches
for each of the two large crops; torchvision has none, so a NumPy loop draws them.

Everybody takes turns and the best of `--rounds` counts. CPU time is that of the whole process: other programs
disturb it less than they disturb rates. Without `--images`, photographs are made up.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torchvision.transforms import v2

import infeed
from infeed import transforms as T

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CLASSES = 1000
CROPS = [(224, (0.4, 1.0))] * 2 + [(96, (0.05, 0.4))] * 6


def made_up(seed: int) -> bytes:
    """A generated JPEG of 500x400."""
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (20, 25, 3), dtype=np.uint8)
    pixels = np.asarray(Image.fromarray(small).resize((500, 400), Image.Resampling.BICUBIC), np.int16)
    pixels = pixels + rng.integers(-12, 13, pixels.shape)
    out = io.BytesIO()
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(out, "JPEG", quality=90)
    return out.getvalue()


def photographs(folder: Path | None) -> list[bytes]:
    """The JPEGs of a folder, or made-up ones."""
    if folder is None:
        return [made_up(seed) for seed in range(64)]
    found = sorted(p for p in folder.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))
    return [p.read_bytes() for p in found]


class Best:
    """The best of what was measured under a name: samples per second, and CPU seconds per sample."""

    def __init__(self) -> None:
        self.rates: dict[str, float] = {}
        self.cpu: dict[str, float] = {}

    def measure(self, name: str, work: Callable[[], int]) -> None:
        """Run work that says how many samples it made."""
        start, used = time.perf_counter(), time.process_time()
        samples = work()
        used, taken = time.process_time() - used, time.perf_counter() - start
        self.rates[name] = max(self.rates.get(name, 0.0), samples / taken)
        self.cpu[name] = min(self.cpu.get(name, np.inf), used / samples)


def epoch(loader: infeed.Loader) -> int:
    """Run one epoch; returns the number of samples."""
    with loader:
        return sum(len(batch["cls"]) for batch in loader)


def mixup(shards: str, size: int, rounds: int) -> None:
    """The cost of MixUp per batch."""
    data = infeed.open(shards).shuffle(seed=1).decode(jpg="rgb", cls="int")
    data = data.map(T.RandomResizedCrop(224), T.Normalize(MEAN, STD), on="jpg").batch(size, drop_last=True)
    pipes = {
        "plain": data,
        "MixUp": data.map_batch(T.MixUp(num_classes=CLASSES)),
        "CutMix": data.map_batch(T.CutMix(num_classes=CLASSES)),
    }
    batch = next(iter(data.to_torch(threads=2)))
    images, labels = batch["jpg"].clone(), batch["cls"].clone()
    every = torch.get_num_threads()
    best = Best()
    for _ in range(rounds):
        for threads in (1, 2):
            for name, pipe in pipes.items():
                loader = pipe.to_torch(threads=threads, persistent=False)
                best.measure(f"{name}, {threads} thread(s)", lambda loader=loader: epoch(loader))
        for threads in (1, every):
            torch.set_num_threads(threads)
            for kind in (v2.MixUp, v2.CutMix):
                mix = kind(num_classes=CLASSES)
                for _ in range(5):
                    name = f"torchvision {kind.__name__}, {threads} thread(s)"
                    best.measure(name, lambda mix=mix: len(mix(images, labels)[1]))
    print(f"batches of {size} x 3 x 224 x 224, f32")
    for name, found in best.rates.items():
        line = f"{name:<36}{found:10.0f} images/s{best.cpu[name] * size * 1e3:10.1f} ms CPU a batch"
        if name.startswith(("MixUp", "CutMix")):
            more = best.cpu[name] - best.cpu["plain," + name.split(",")[1]]
            line += f", {more * size * 1e3:.1f} more than plain"
        print(line)


def infeed_views(shards: str, count: int, *, masks: bool = False) -> int:
    """Eight views of each image, one thread."""
    steps = (T.RandomHorizontalFlip(), T.Normalize(MEAN, STD))
    data = infeed.open(shards).shuffle(seed=1).decode(jpg="rgb", cls="int")
    data = data.views("jpg", 2, T.RandomResizedCrop(224, scale=(0.4, 1.0)), *steps, to="global")
    data = data.views("jpg", 6, T.RandomResizedCrop(96, scale=(0.05, 0.4)), *steps, to="local")
    if masks:
        data = data.views("jpg", 2, T.BlockMask(14, ratio=0.4), to="mask")
    return epoch(data.take(count).batch(32, drop_last=True).to_torch(threads=1, persistent=False))


def block_mask(side: int = 14, wanted: int = 78, least: int = 16) -> np.ndarray:
    """A mask of blocks, completed by single patches: what BlockMask does, in NumPy."""
    mask = np.zeros((side, side), bool)
    attempts = 0
    while (room := wanted - int(mask.sum())) > 0 and attempts < 10:
        area = random.uniform(min(least, room), room)
        aspect = np.exp(random.uniform(np.log(0.3), -np.log(0.3)))
        height, width = max(1, round((area * aspect) ** 0.5)), max(1, round((area / aspect) ** 0.5))
        attempts += 1
        if height <= side and width <= side:
            top, left = random.randint(0, side - height), random.randint(0, side - width)
            block = mask[top : top + height, left : left + width]
            if 0 < block.size - int(block.sum()) <= room:
                block[:] = True
                attempts = 0
    free = np.flatnonzero(~mask)
    mask.flat[np.random.permutation(free)[: wanted - int(mask.sum())]] = True
    return mask


def torchvision_views(photos: list[bytes], count: int, *, masks: bool = False) -> int:
    """The same with torchvision on PIL images."""
    torch.set_num_threads(1)
    finish = [v2.RandomHorizontalFlip(), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    crops = [v2.Compose([v2.RandomResizedCrop(size, scale=scale), *finish]) for size, scale in CROPS]
    samples = 0
    for first in range(0, count - 31, 32):
        views: list[list[torch.Tensor]] = [[] for _ in crops]
        for i in range(first, first + 32):
            image = Image.open(io.BytesIO(photos[i % len(photos)])).convert("RGB")
            for crop, into in zip(crops, views, strict=True):
                into.append(crop(image))
        batch = [torch.stack(view) for view in views]
        if masks:
            batch += [torch.from_numpy(np.stack([block_mask() for _ in range(32)])) for _ in range(2)]
        samples += len(batch[0])
    return samples


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path)
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=256)
    args = parser.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    photos = photographs(args.images)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INFEED_CACHE"] = folder
        with infeed.ShardWriter(Path(folder) / "train-%03d.tar", maxcount=256) as out:
            for i in range(args.rows):
                out.write({"__key__": f"{i:06d}", "jpg": photos[i % len(photos)], "cls": i % CLASSES})
        shards = f"{folder}/*.tar"
        mixup(shards, args.batch, args.rounds)
        count = max(32, args.rows // 4)
        best = Best()
        for _ in range(args.rounds):
            for masks in (False, True):
                end = ", with block masks" if masks else ""
                best.measure(f"infeed{end}", lambda m=masks: infeed_views(shards, count, masks=m))
                best.measure(f"torchvision on PIL{end}", lambda m=masks: torchvision_views(photos, count, masks=m))
    print("8 views of each image (2 of 224, 6 of 96), one thread")
    for name, found in best.rates.items():
        print(f"{name:<36}{found:10.0f} images/s{best.cpu[name] * 1e3:10.2f} ms CPU an image")


if __name__ == "__main__":
    main()
