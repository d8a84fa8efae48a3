"""Data sets as people write them: what ``workers.py`` gives to both loaders. None of them can be run natively."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info


class Scalars(Dataset):
    """A number per sample: all of the work is overhead."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, i: int) -> Any:
        return torch.tensor(float(i)), i


class Floats(Dataset):
    """Tensors of the size of an image, ready in memory: almost all of the work is moving bytes."""

    def __init__(self, shape: tuple[int, ...], rows: int) -> None:
        self.stored = torch.rand(shape)
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, i: int) -> Any:
        return self.stored.clone(), i % 10


class Dicts(Dataset):
    """A dict per sample, with tensors, a number and a text."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, i: int) -> Any:
        x = torch.full((16,), float(i))
        return {"x": x, "mask": x > 3, "label": i % 10, "name": f"folder/{i:09d}.jpg"}


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

    def __getitem__(self, i: int) -> Any:
        from PIL import Image

        with Image.open(self.paths[i]) as image:
            return self.transform(image.convert("RGB")), i


class Stream(IterableDataset):
    """Rows one after the other; every worker makes its part of them."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for i in range(first, self.rows, step):
            yield torch.full((64,), float(i)), i


class Texts(Dataset):
    """A list of many strings, about 200 MB of Python objects. An epoch reads all of them."""

    def __init__(self, count: int = 2_000_000) -> None:
        self.names = [f"folder/{i % 1000:04d}/image_{i:09d}.jpg" for i in range(count)]

    def __len__(self) -> int:
        return 2000

    def __getitem__(self, i: int) -> Any:
        return torch.full((256,), float(sum(map(len, self.names[i :: len(self)]))))


class Tensors(Dataset):
    """A list of tensors, about 200 MB."""

    def __init__(self, count: int = 340) -> None:
        self.images = [torch.full((3, 224, 224), float(i)) for i in range(count)]

    def __len__(self) -> int:
        return len(self.images) * 4

    def __getitem__(self, i: int) -> Any:
        return self.images[i % len(self.images)], i


class Scales(Dataset):
    """Images whose size changes with every batch of 32, as in training at many scales."""

    SIDES = (128, 320, 192, 256, 160, 288, 224)

    def __init__(self, count: int = 1360) -> None:
        self.stored = torch.rand(3, max(self.SIDES), max(self.SIDES))
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> Any:
        side = self.SIDES[i // 32 % len(self.SIDES)]
        return self.stored[:, :side, :side], i


def make_jpegs(folder: Path, count: int) -> None:
    """Files with smooth colours and grain, 500x375."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for i in range(count):
        y, x = np.mgrid[0:375, 0:500]
        pixels = np.stack([128 + 80 * np.sin(x / (20 + i % 30) + c) + 40 * np.cos(y / 31) for c in range(3)], -1)
        pixels += rng.normal(0, 10, pixels.shape)
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(folder / f"{i:05d}.jpg", quality=90)
