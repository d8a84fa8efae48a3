"""infeed's side of the tasks. Nothing is set but the batch size: threads and prefetching are the defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import infeed
from infeed import decoders as D
from infeed import transforms as T
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


def detection(task: Task) -> tuple[Any, list[str]]:
    """Boxes follow the image; those that vanish take their labels along."""
    data = infeed.coco(task.data / "images", task.data / "boxes.json", fields=["image", "boxes", "labels"])
    data = data.shuffle(seed=0).decode(image="rgb", boxes=D.boxes(along=["labels"]))
    steps = [T.Resize((640, 640)), T.RandomHorizontalFlip(), T.ColorJitter(*JITTER)]
    return data.map(*steps), ["image", "boxes", "labels"]


def segmentation(task: Task) -> tuple[Any, list[str]]:
    """The mask follows the image."""
    data = infeed.csv(task.data / "rows.csv", columns=["image", "mask"]).load("image").load("mask")
    data = data.shuffle(seed=0).decode(image="rgb", mask=D.mask(ignore=255))
    steps = [T.RandomResizedCrop(512), T.RandomHorizontalFlip(), T.ColorJitter(*JITTER)]
    return data.map(*steps), ["image", "mask"]


def views(task: Task) -> tuple[Any, list[str]]:
    """Eight views of one decoded image, with their own augmentations."""
    data, names = crops(task)
    data = data.map(T.RandomApply([T.ColorJitter(*VIEW_JITTER)], p=VIEW_JITTERED), T.RandomGrayscale(VIEW_GRAY))
    for name in names:
        data = data.map(T.RandomApply([T.GaussianBlur(*BLUR)], p=VIEW_BLURRED[name]), on=name)
    for name, p in VIEW_SOLARISED.items():
        data = data.map(T.RandomSolarize(SOLARISED_FROM, p=p), on=name)
    return data, names


def crops(task: Task) -> tuple[Any, list[str]]:
    """Eight crops of one decoded image."""
    data = infeed.csv(task.data / "rows.csv", columns=["image"]).load("image").shuffle(seed=0).decode(image="rgb")
    names = []
    for name, (count, size, scale) in VIEWS.items():
        data = data.views("image", count, T.RandomResizedCrop(size, scale=scale), T.RandomHorizontalFlip(), to=name)
        names += [f"{name}_{i}" for i in range(count)]
    return data, names


def captions(task: Task) -> tuple[Any, list[str]]:
    """Tokens are made in the threads that decode images."""
    data = infeed.csv(task.data / "rows.csv", columns=["image", "caption"]).load("image").shuffle(seed=0)
    data = data.decode(image="rgb").map(T.RandomResizedCrop(224), T.RandomHorizontalFlip(), on="image")
    data = data.tokenize(task.data / "tokenizer.json", on="caption", dtype="int64", max_length=LONGEST)
    return data, ["image", "tokens", "mask"]


WORKS: dict[str, Callable[[Task], tuple[Any, list[str]]]] = {
    "detection": detection,
    "segmentation": segmentation,
    "views": views,
    "crops": crops,
    "captions": captions,
}


def epochs(task: Task) -> Callable[[], Iterator[Batch]]:
    """One loader for all epochs: iterating again gives the next one."""
    data, fields = WORKS[task.work](task)
    if task.dtype == "f32":
        data = data.map(T.ToDtype("f32", scale=True))
    if task.work == "captions":
        batches = data.batch(task.batch, drop_last=True, ragged={"tokens": "pad"}, pad_mask={"tokens": "mask"})
    else:
        batches = data.batch(task.batch, drop_last=True)
    loader = batches.to_torch()

    def epoch() -> Iterator[Batch]:
        for batch in loader:
            yield tuple(batch[field] for field in fields)

    return epoch
