"""The peer of gpu.py: torch's DataLoader with Pillow. Needs no torchvision."""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import infeed


class Files(torch.utils.data.Dataset):
    """The peer's data set: JPEGs in memory, decoded and cropped with Pillow as torchvision does it."""

    def __init__(self, photos: list[Path], samples: int, size: int) -> None:
        self.bodies = [path.read_bytes() for path in photos]
        self.samples, self.size = samples, size

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        import io

        import numpy as np
        from PIL import Image

        image = Image.open(io.BytesIO(self.bodies[index % len(self.bodies)])).convert("RGB")
        width, height = image.size
        for _ in range(10):
            area = width * height * random.uniform(0.08, 1.0)
            ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
            w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < w <= width and 0 < h <= height:
                break
        else:
            w = h = min(width, height)
        x, y = random.randint(0, width - w), random.randint(0, height - h)
        image = image.crop((x, y, x + w, y + h)).resize((self.size, self.size), Image.Resampling.BILINEAR)
        if random.random() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return torch.from_numpy(np.array(image)), index % 1000


def peer_batches(photos: list[Path], args: argparse.Namespace, normalize: Callable[..., Any]) -> Iterator[Any]:
    """torch's DataLoader, well configured: worker processes, page-locked memory, u8 copies."""
    data = Files(photos, args.samples, args.size)
    workers = args.threads or infeed.usable_cpus()
    loader = torch.utils.data.DataLoader(
        data,
        args.batch,
        shuffle=True,
        drop_last=True,
        num_workers=workers,
        pin_memory=args.device.startswith("cuda"),
        persistent_workers=True,
        prefetch_factor=4,
    )
    while True:
        for images, labels in loader:
            yield (
                normalize(images.to(args.device, non_blocking=True)),
                labels.to(args.device, non_blocking=True),
            )
