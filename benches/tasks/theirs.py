"""torchvision v2 with tv_tensors in a torch DataLoader.

Images are decoded by Pillow, or to tensors by torchvision.io: which is faster depends on the transforms, so both are
measured. With worker processes torch uses one thread in each; without them, as many as CPUs.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from typing import Any

import torch
from PIL import Image
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset
from torchvision import tv_tensors
from torchvision.io import ImageReadMode, decode_image, read_file
from torchvision.transforms import v2

from tasks import (
    BLUR,
    JITTER,
    LONGEST,
    SOLARISED_FROM,
    VIEW_BLURRED,
    VIEW_GRAY,
    VIEW_JITTER,
    VIEW_JITTERED,
    VIEW_SOLARISED,
    VIEWS,
    Batch,
    Task,
)


def as_pil(path: str) -> Any:
    """An image of Pillow, decoded."""
    with Image.open(path) as image:
        return image.convert("RGB")


def as_tensor(path: str) -> Any:
    """An image as a tensor, decoded by libjpeg-turbo."""
    return tv_tensors.Image(decode_image(read_file(path), ImageReadMode.RGB))


READERS = {"pil": as_pil, "tensor": as_tensor}


class Rows(Dataset):
    """The rows of the table. A subclass says what is made of one."""

    def __init__(self, task: Task, read: Callable[[str], Any]) -> None:
        with (task.data / "rows.csv").open(newline="") as file:
            self.rows = list(csv.DictReader(file))
        self.task, self.read = task, read
        self.end = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)] if task.dtype == "f32" else [v2.ToImage()]

    def __len__(self) -> int:
        return len(self.rows)

    def image(self, row: int) -> Any:
        """The decoded image of a row."""
        return self.read(str(self.task.data / self.rows[row]["image"]))


class Detection(Rows):
    """An image with boxes and labels. The annotations are parsed once, before workers start."""

    def __init__(self, task: Task, read: Callable[[str], Any]) -> None:
        super().__init__(task, read)
        about = json.loads((task.data / "boxes.json").read_text())
        self.boxes: list[list[list[float]]] = [[] for _ in about["images"]]
        self.labels: list[list[int]] = [[] for _ in about["images"]]
        for one in about["annotations"]:
            x, y, width, height = one["bbox"]
            self.boxes[one["image_id"]].append([x, y, x + width, y + height])
            self.labels[one["image_id"]].append(one["category_id"])
        steps = [v2.Resize((640, 640)), v2.RandomHorizontalFlip(), v2.ColorJitter(*JITTER)]
        self.transform = v2.Compose([*steps, *self.end, v2.SanitizeBoundingBoxes()])

    def __getitem__(self, row: int) -> Batch:
        image = self.image(row)
        size = v2.functional.get_size(image)
        boxes = tv_tensors.BoundingBoxes(self.boxes[row], format="XYXY", canvas_size=size)
        image, out = self.transform(image, {"boxes": boxes, "labels": torch.tensor(self.labels[row])})
        return image, out["boxes"], out["labels"]

    @staticmethod
    def collate(samples: list[Batch]) -> Batch:
        """One tensor of images, lists of boxes and labels."""
        images, boxes, labels = zip(*samples, strict=True)
        return torch.stack(images), list(boxes), list(labels)


class Segmentation(Rows):
    """An image and its mask."""

    def __init__(self, task: Task, read: Callable[[str], Any]) -> None:
        super().__init__(task, read)
        steps = [v2.RandomResizedCrop(512), v2.RandomHorizontalFlip(), v2.ColorJitter(*JITTER)]
        self.transform = v2.Compose([*steps, *self.end])

    def __getitem__(self, row: int) -> Batch:
        # torchvision.io would turn the palette's indices into colours, so Pillow reads the mask.
        with Image.open(self.task.data / self.rows[row]["mask"]) as stored:
            mask = tv_tensors.Mask(v2.functional.pil_to_tensor(stored))
        image, mask = self.transform(self.image(row), mask)
        return image, mask[0]

    collate = None


class Crops(Rows):
    """Crops of one image."""

    def __init__(self, task: Task, read: Callable[[str], Any]) -> None:
        super().__init__(task, read)
        self.views: list[Any] = []
        for kind, (count, size, scale) in VIEWS.items():
            crop = [v2.RandomResizedCrop(size, scale=scale), v2.RandomHorizontalFlip()]
            self.views += [v2.Compose([*crop, *self.more(f"{kind}_{i}"), *self.end]) for i in range(count)]

    def more(self, name: str) -> list[Any]:
        """What else is done to a view."""
        return []

    def __getitem__(self, row: int) -> Batch:
        image = self.image(row)
        return tuple(view(image) for view in self.views)

    collate = None


class Views(Crops):
    """Crops with augmentations."""

    def more(self, name: str) -> list[Any]:
        """As the methods have it."""
        jitter = v2.RandomApply([v2.ColorJitter(*VIEW_JITTER)], p=VIEW_JITTERED)
        blur = v2.RandomApply([v2.GaussianBlur(*BLUR)], p=VIEW_BLURRED[name])
        out = [jitter, v2.RandomGrayscale(VIEW_GRAY), blur]
        return out + [v2.RandomSolarize(SOLARISED_FROM, p=p) for view, p in VIEW_SOLARISED.items() if view == name]


class Captions(Rows):
    """An image and the tokens of its caption."""

    def __init__(self, task: Task, read: Callable[[str], Any]) -> None:
        from tokenizers import Tokenizer

        super().__init__(task, read)
        self.transform = v2.Compose([v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), *self.end])
        self.tokenizer = Tokenizer.from_file(str(task.data / "tokenizer.json"))
        self.tokenizer.enable_truncation(LONGEST)

    def __getitem__(self, row: int) -> Batch:
        tokens = self.tokenizer.encode(self.rows[row]["caption"]).ids
        return self.transform(self.image(row)), torch.tensor(tokens)

    @staticmethod
    def collate(samples: list[Batch]) -> Batch:
        """Images, padded tokens and their mask."""
        images, tokens = zip(*samples, strict=True)
        lengths = torch.tensor([len(one) for one in tokens])
        padded = pad_sequence(list(tokens), batch_first=True)
        return torch.stack(images), padded, torch.arange(padded.shape[1]) < lengths[:, None]


WORKS: dict[str, Any] = {
    "detection": Detection,
    "segmentation": Segmentation,
    "views": Views,
    "crops": Crops,
    "captions": Captions,
}


def epochs(task: Task, reader: str, workers: int) -> Callable[[], Any]:
    """A fresh DataLoader per epoch; starting its workers is not timed."""
    if workers == 0:
        torch.set_num_threads(task.threads)
    rows = WORKS[task.work](task, READERS[reader])
    return lambda: DataLoader(
        rows, task.batch, shuffle=True, num_workers=workers, collate_fn=rows.collate, drop_last=True
    )
