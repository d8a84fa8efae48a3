"""What the tests of recognition share: images, and torch's own DataLoader to compare with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

from infeed.torch.recognise import Takeover, take_over

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
# Levels of 255 by which a resized pixel may differ: 0 for PIL images, 1 where torchvision resizes tensors of u8.
EXACT, TENSOR = 1e-4, 1.01


def photo(seed: int, height: int, width: int, channels: int = 3) -> Any:
    """Smooth colours with some grain, as photographs have them."""
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 256, (5, 6, 3), dtype=np.uint8)).resize((width, height), Image.BICUBIC)
    grain = rng.integers(-8, 9, (height, width, 3))
    array = np.clip(np.asarray(small).astype(int) + grain, 0, 255).astype(np.uint8)
    return array if channels == 3 else array[..., 0]


def folder(root: Path) -> Path:
    """An image folder: three classes, PNG and JPEG, odd names, different sizes."""
    for label, name in enumerate(("cat", "dog, big", "{x} *")):
        (root / name).mkdir()
        for i in range(7):
            image = Image.fromarray(photo(10 * label + i, 60 + 5 * i, 70 + 3 * i))
            image.save(root / name / f"a {i}, b.{'jpg' if i % 2 else 'png'}", quality=95)
    return root


def taken(loader: Any) -> Takeover:
    takeover = take_over(loader)
    assert isinstance(takeover, Takeover), takeover
    assert takeover
    return takeover


def both(make: Any, seed: int = 7, epochs: int = 2, draws: bool = True) -> tuple[list[Any], list[Any]]:
    """The batches of torch's DataLoader and of the takeover, after the same seed; both draw equally often from it."""
    out = []
    after = []
    for native in (False, True):
        loader = make()
        takeover = taken(loader) if native else None
        torch.manual_seed(seed)
        batches = []
        for _ in range(epochs):
            batches += list(takeover.iterate(loader) if takeover else loader)
        out.append(batches)
        after.append(torch.rand(4))
        if takeover:
            takeover.close()
    assert torch.equal(*after) or not draws
    return out[0], out[1]


def same(torchs: Any, ours: Any, levels: float = 0.0, scale: float = 1.0) -> None:
    """Compares structure, types and shapes; floats within a number of levels, integers exactly."""
    assert type(torchs) is type(ours)
    if isinstance(torchs, dict):
        assert list(torchs) == list(ours)
        for name in torchs:
            same(torchs[name], ours[name], levels, scale)
    elif isinstance(torchs, list | tuple):
        assert len(torchs) == len(ours)
        for a, b in zip(torchs, ours, strict=True):
            same(a, b, levels, scale)
    elif isinstance(torchs, torch.Tensor):
        assert (torchs.dtype, torchs.shape) == (ours.dtype, ours.shape)
        if levels and torchs.dim() > 1:
            assert float((torchs.double() - ours.double()).abs().max()) <= levels * scale
        else:
            assert torch.equal(torchs, ours)
    else:
        assert torchs == ours


def images(root: Path, *transforms: Any, **more: Any) -> ImageFolder:
    return ImageFolder(str(root), transform=v2.Compose(list(transforms)), **more)


FIXED = (v2.Resize((40, 48)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD))
UNIT = 1 / 255 / min(STD)
