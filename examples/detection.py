"""Object detection: boxes that follow their images, and a detector with one box per cell.

    python examples/detection.py                    # makes its data in a temporary folder, trains for some seconds
    python examples/detection.py run --steps 600    # keeps the data in the folder `run`

The data is a folder of JPEGs and a COCO file, ``infeed.coco`` reads it. A batch has

* ``image``: float32, N x 3 x 64 x 64
* ``boxes``: float32, all boxes of the batch end to end, as x1, y1, x2, y2 in pixels of the 64 x 64 images
* ``labels``: int64, their classes; the label of a box that was cut off has left with it
* ``boxes_offsets``: the boxes of image ``i`` are ``boxes[offsets[i]:offsets[i + 1]]``
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageDraw
from torch import nn

import infeed
from infeed import decoders as D
from infeed import transforms as T

CLASSES = ["disc", "block"]
SIZE, CELLS = 64, 8


def draw_scene(
    rng: np.random.Generator, width: int, height: int
) -> tuple[Image.Image, list[tuple[int, list[float]]]]:
    """An image with discs and blocks that hardly overlap, and the class and box (x, y, width, height) of each."""
    background = rng.integers(0, 90, (height, width, 3), dtype=np.uint8)
    image = Image.fromarray(background)
    draw = ImageDraw.Draw(image)
    things: list[tuple[int, list[float]]] = []
    for column in rng.permutation(3)[: rng.integers(1, 4)]:
        w, h = rng.uniform(0.18, 0.3) * width, rng.uniform(0.18, 0.45) * height
        x, y = (column + rng.uniform(0.02, 0.1)) * width / 3, rng.uniform(0, height - h)
        kind = int(rng.integers(2))
        colour = tuple(int(v) for v in rng.integers(140, 256, 3))
        (draw.ellipse if kind == 0 else draw.rectangle)((x, y, x + w, y + h), fill=colour)
        things.append((kind, [float(v) for v in (x, y, w, h)]))
    return image, things


def make_data(folder: Path) -> None:
    """Folders of JPEGs, and ``train.json`` and ``val.json`` as COCO has them."""
    rng = np.random.default_rng(0)
    for part, rows in (("train", 512), ("val", 64)):
        (folder / part).mkdir(parents=True, exist_ok=True)
        coco: dict[str, list[dict[str, Any]]] = {"images": [], "annotations": []}
        coco["categories"] = [{"id": 10 * (i + 1), "name": name} for i, name in enumerate(CLASSES)]
        for row in range(rows):
            width, height = int(rng.integers(80, 161)), int(rng.integers(80, 129))
            image, things = draw_scene(rng, width, height)
            image.save(folder / part / f"{row:04d}.jpg", quality=92)
            coco["images"].append({"id": row, "file_name": f"{row:04d}.jpg", "width": width, "height": height})
            for kind, box in things:
                about = {"id": len(coco["annotations"]), "image_id": row, "category_id": 10 * (kind + 1)}
                coco["annotations"].append(about | {"bbox": box, "area": box[2] * box[3], "iscrowd": 0})
        (folder / f"{part}.json").write_text(json.dumps(coco))


def pipeline(folder: Path, part: str, *, train: bool) -> infeed.Pipeline:
    """Images and boxes, moved together. A box of which less than a fifth is left by a crop leaves with its label."""
    data = infeed.coco(
        folder / part, folder / f"{part}.json", labels="contiguous", fields=["image", "boxes", "labels"]
    )
    if train:
        data = data.shuffle(seed=17)
    data = data.decode(image="rgb", boxes=D.boxes(min_visible=0.2, along=["labels"]))
    if train:
        data = data.map(T.RandomIoUCrop(min_scale=0.6), T.RandomHorizontalFlip(), T.ColorJitter(0.2, 0.2, 0.2))
    data = data.map(T.Resize((SIZE, SIZE)), T.ToDtype("f32", scale=True))
    return data.batch(32, drop_last=train, ragged={"boxes": "flat", "labels": "flat"})


class Detector(nn.Module):
    """For each of 8 x 8 cells: whether the middle of a thing is in it, the thing's box, and its class."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after in ((3, width), (width, 2 * width), (2 * width, 2 * width)):
            layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
        # Cells have to see a whole thing.
        for _ in range(2):
            layers += [
                nn.Conv2d(2 * width, 2 * width, 3, padding=2, dilation=2),
                nn.BatchNorm2d(2 * width),
                nn.ReLU(),
            ]
        out = nn.Conv2d(2 * width, 5 + len(CLASSES), 1)
        # Most cells have nothing, so the model begins with finding nothing.
        nn.init.constant_(out.bias[:1], -2.0)
        self.layers = nn.Sequential(*layers, out)

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The logit of a thing, the box in pixels and the logits of classes, for each cell."""
        made = self.layers(images).permute(0, 2, 3, 1)
        step = SIZE / CELLS
        cell = (torch.arange(CELLS) + 0.5) * step
        x, y = cell[None, None, :] + made[..., 1] * step, cell[None, :, None] + made[..., 2] * step
        half_w, half_h = made[..., 3].clamp(-4, 4).exp() * step, made[..., 4].clamp(-4, 4).exp() * step
        boxes = torch.stack([x - half_w, y - half_h, x + half_w, y + half_h], -1)
        return made[..., 0], boxes, made[..., 5:]


def overlap(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The IoU of pairs of boxes."""
    low, high = torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    areas = [(box[..., 2:] - box[..., :2]).prod(-1) for box in (a, b)]
    return shared / (areas[0] + areas[1] - shared).clamp(min=1e-6)


def places(batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The image of every box, and the cell that its middle is in."""
    counts = batch["boxes_offsets"].diff()
    images = torch.arange(len(counts)).repeat_interleave(counts)
    middle = (batch["boxes"][:, :2] + batch["boxes"][:, 2:]) / 2
    cells = (middle * CELLS / SIZE).long().clamp(0, CELLS - 1)
    return images, cells[:, 1], cells[:, 0]


def loss_of(model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Things in the right cells, boxes that overlap, and the right classes."""
    there, boxes, classes = model(batch["image"])
    at = places(batch)
    truth = torch.zeros_like(there)
    truth[at] = 1.0
    weight = torch.full((), 4.0)
    loss = nn.functional.binary_cross_entropy_with_logits(there, truth, pos_weight=weight)
    loss = loss + nn.functional.smooth_l1_loss(boxes[at] / 8, batch["boxes"] / 8)
    loss = loss + (1 - overlap(boxes[at], batch["boxes"])).mean()
    made: torch.Tensor = loss + nn.functional.cross_entropy(classes[at], batch["labels"])
    return made


def evaluate(model: nn.Module, data: infeed.Pipeline) -> tuple[float, float, float]:
    """The mean IoU of true boxes with the best found ones; the shares of right classes and of right boxes."""
    ious, right, precise = [], [], []
    model.eval()
    with torch.no_grad(), data.to_torch() as loader:
        for batch in loader:
            offsets = batch["boxes_offsets"].tolist()
            for i, (there, boxes, classes) in enumerate(zip(*model(batch["image"]), strict=True)):
                truth = batch["boxes"][offsets[i] : offsets[i + 1]]
                found = there > 0
                if not found.any():
                    ious.append(torch.zeros(len(truth)))
                    continue
                table = overlap(truth[:, None], boxes[found][None])
                best = table.max(1)
                ious.append(best.values)
                right.append(classes[found].argmax(1)[best.indices] == batch["labels"][offsets[i] : offsets[i + 1]])
                precise.append(table.max(0).values > 0.5)
    model.train()
    share = [float(torch.cat(values).float().mean()) if values else 0.0 for values in (ious, right, precise)]
    return share[0], share[1], share[2]


def train(folder: Path, steps: int) -> tuple[float, tuple[float, float, float]]:
    """Train; returns the mean IoU before, and what :func:`evaluate` says after."""
    data = pipeline(folder, "train", train=True)
    print(data.explain())
    torch.manual_seed(0)
    torch.set_num_threads(1)  # more would only compete with the loader's threads for so small a model
    model = Detector()
    optimizer = torch.optim.AdamW(model.parameters(), 4e-3)
    before = evaluate(model, pipeline(folder, "val", train=False))[0]
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    with data.to_torch(steps_per_epoch=steps) as loader:
        for step, batch in enumerate(loader):
            loss = loss_of(model, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            if step % 20 == 0:
                print(f"step {step}: loss {loss.item():.2f}, {len(batch['boxes'])} boxes in the batch")
    return before, evaluate(model, pipeline(folder, "val", train=False))


def main() -> None:
    """Train, and check that something was learned."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="keeps the data (default: a temporary one)")
    parser.add_argument("--steps", type=int, default=160)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        make_data(folder)
        before, (iou, right, precise) = train(folder, args.steps)
    print(f"mean IoU of true boxes: {before:.2f} at first, {iou:.2f} after {args.steps} steps")
    print(f"classes right: {right:.0%}; boxes found that are right: {precise:.0%}")
    assert iou > 0.5 and iou > before + 0.2, "boxes hardly overlap more than before"
    assert right > 0.7, "classes are hardly better than a guess"


if __name__ == "__main__":
    main()
