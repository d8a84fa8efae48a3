"""Semantic segmentation: masks that follow their images, and a small U-Net.

    python examples/segmentation.py                    # makes its data in a temporary folder, trains for some seconds
    python examples/segmentation.py run --steps 400    # keeps the data in the folder `run`

The images are noisy scenes with warm and cold shapes. The masks are PNGs with a palette, as those of Pascal VOC: a class
per pixel, and 255 on the borders of shapes, which the loss ignores. A batch has

* ``jpg``: float32, N x 3 x 64 x 64, a view that torch calls channels_last
* ``png``: int64, N x 64 x 64, what ``cross_entropy`` takes
"""

from __future__ import annotations

import argparse
import io
import tempfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw
from torch import nn

import infeed
from infeed import decoders as D
from infeed import transforms as T

CLASSES = ["background", "warm", "cold"]
BORDER = 255


def scene(rng: np.random.Generator, width: int, height: int) -> tuple[bytes, bytes]:
    """An image as JPEG and its mask as PNG."""
    image = Image.new("RGB", (width, height), tuple(int(v) for v in rng.integers(90, 170, 3)))
    mask = Image.new("P", (width, height), 0)
    # A palette of three colours would be stored in two bits, which cannot hold 255.
    mask.putpalette([0, 0, 0, 200, 60, 0, 0, 60, 200] + [255] * 3 * 253)
    draw, draw_mask = ImageDraw.Draw(image), ImageDraw.Draw(mask)
    for _ in range(rng.integers(1, 4)):
        kind = int(rng.integers(1, 3))
        colour = [int(rng.integers(150, 256)), int(rng.integers(0, 160)), int(rng.integers(0, 100))]
        x, y, size = rng.uniform(0.0, 0.7) * width, rng.uniform(0.0, 0.7) * height, rng.uniform(16, 40)
        place = (x, y, x + size, y + size)
        shape = "ellipse" if rng.random() < 0.5 else "rectangle"
        getattr(draw, shape)(place, fill=tuple(colour if kind == 1 else colour[::-1]))
        getattr(draw_mask, shape)(place, fill=kind, outline=BORDER)
    noise = rng.normal(0, 25, (height, width, 3))
    pixels = (np.asarray(image) + noise).clip(0, 255).astype(np.uint8)
    out, out_mask = io.BytesIO(), io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=90)
    mask.save(out_mask, "PNG")
    return out.getvalue(), out_mask.getvalue()


def make_data(folder: Path) -> None:
    """Shards with an image and a mask per sample. Their sizes differ."""
    rng = np.random.default_rng(0)
    for part, rows in (("train", 384), ("val", 64)):
        with infeed.ShardWriter(folder / f"{part}-%03d.tar", maxcount=128) as out:
            for row in range(rows):
                image, mask = scene(rng, int(rng.integers(80, 121)), int(rng.integers(80, 121)))
                out.write({"__key__": f"{row:04d}", "jpg": image, "png": mask})


def train_data(folder: Path) -> infeed.Pipeline:
    """Crops, flips and turns move image and mask together; colours change the image only."""
    return (
        infeed.open(folder / "train-*.tar")
        .shuffle(seed=17)
        .decode(jpg="rgb", png=D.mask(ignore=BORDER, dtype="int64"))
        .map(T.RandomRotation(15), T.RandomResizedCrop(64, scale=(0.4, 1.0)), T.RandomHorizontalFlip())
        .map(T.ColorJitter(0.2, 0.2, 0.2), T.ToDtype("f32", scale=True))
        .batch(16, drop_last=True)
    )


def val_data(folder: Path) -> infeed.Pipeline:
    """Whole images at one size."""
    data = infeed.open(folder / "val-*.tar").decode(jpg="rgb", png=D.mask(ignore=BORDER, dtype="int64"))
    return data.map(T.Resize((64, 64)), T.ToDtype("f32", scale=True)).batch(32)


class UNet(nn.Module):
    """Three convolutions down, and up again with what each of them saw."""

    def __init__(self, classes: int, width: int = 16) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.second = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.third = nn.Conv2d(2 * width, 2 * width, 3, stride=2, padding=1)
        self.join_second = nn.Conv2d(4 * width, width, 3, padding=1)
        self.join_first = nn.Conv2d(2 * width, width, 3, padding=1)
        self.out = nn.Conv2d(width, classes, 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        first = self.first(images - 0.5).relu()
        second = self.second(first).relu()
        third = self.third(second).relu()
        up = nn.functional.interpolate(third, scale_factor=2.0)
        up = self.join_second(torch.cat([up, second], 1)).relu()
        up = nn.functional.interpolate(up, scale_factor=2.0)
        made: torch.Tensor = self.out(self.join_first(torch.cat([up, first], 1)).relu())
        return made


def evaluate(model: nn.Module, data: infeed.Pipeline) -> tuple[float, float, float]:
    """Pixel accuracy, the share of the most frequent class, and the mean IoU of all classes."""
    counts = torch.zeros(len(CLASSES), len(CLASSES))
    with torch.no_grad(), data.to_torch() as loader:
        for batch in loader:
            truth = batch["png"]
            found = model(batch["jpg"]).argmax(1)[truth != BORDER]
            pairs = truth[truth != BORDER] * len(CLASSES) + found
            counts += pairs.bincount(minlength=len(CLASSES) ** 2).view_as(counts)
    right = counts.diag()
    iou = right / (counts.sum(0) + counts.sum(1) - right).clamp(min=1)
    return float(right.sum() / counts.sum()), float(counts.sum(1).max() / counts.sum()), float(iou.mean())


def train(folder: Path, steps: int) -> tuple[float, float, float]:
    """Train, and return what :func:`evaluate` says."""
    data = train_data(folder)
    print(data.explain())
    torch.manual_seed(0)
    torch.set_num_threads(1)  # more would only compete with the loader's threads for so small a model
    model = UNet(len(CLASSES)).to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    with data.to_torch(steps_per_epoch=steps) as loader:
        for step, batch in enumerate(loader):
            loss = nn.functional.cross_entropy(model(batch["jpg"]), batch["png"], ignore_index=BORDER)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 20 == 0:
                print(f"step {step}: loss {loss.item():.2f}")
    return evaluate(model, val_data(folder))


def main() -> None:
    """Train, and check that something was learned."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="keeps the data (default: a temporary one)")
    parser.add_argument("--steps", type=int, default=80)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        make_data(folder)
        accuracy, majority, iou = train(folder, args.steps)
    print(f"pixel accuracy {accuracy:.1%}, where always saying background gives {majority:.1%}; mean IoU {iou:.2f}")
    assert accuracy > majority + (1 - majority) / 2, "at least half of what the majority misses"
    assert iou > 0.5, "a class is hardly found"


if __name__ == "__main__":
    main()
