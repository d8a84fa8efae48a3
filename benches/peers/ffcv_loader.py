"""FFCV: one beton file, Numba-compiled pipelines, threads.

It re-encodes JPEGs when writing; quality 95 keeps the mean size close to that of the originals. Each process
compiles its pipelines before the first batch (many seconds), which is not timed.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from ffcv.fields import BytesField, IntField, RGBImageField
from ffcv.fields.basics import IntDecoder
from ffcv.fields.bytes import BytesDecoder
from ffcv.fields.rgb_image import CenterCropRGBImageDecoder, RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter
from PIL import Image

import data
from works import AREA, ASPECT, CROP, MEAN, RESIZE, STD, Epochs, Task

#: Passes that make one epoch of undecoded reading.
RAW_PASSES = 8


class Rows:
    """The samples by number, as the writer wants them."""

    def __init__(self, task: Task) -> None:
        self.encoded = task.encoded
        self.rows = list(data.records(task.data, "photos"))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> tuple[np.ndarray, int]:
        body, label = self.rows[number]
        if self.encoded:
            return np.frombuffer(body, np.uint8), label
        return np.array(Image.open(io.BytesIO(body)).convert("RGB")), label


def beton(task: Task) -> Path:
    """The file this work reads."""
    return task.data / ("raw.beton" if task.encoded else "photos.beton")


def prepare(task: Task) -> None:
    """Write the beton."""

    def write(part: Path) -> None:
        image = BytesField() if task.encoded else RGBImageField(write_mode="jpg", jpeg_quality=95)
        writer = DatasetWriter(str(part), {"image": image, "label": IntField()}, num_workers=1)
        writer.from_indexed_dataset(Rows(task))

    data.once(beton(task), write)


def steps(task: Task) -> list[Any]:
    """The pipeline of the image field."""
    if task.encoded:
        return [BytesDecoder()]
    if task.random:
        first = [
            RandomResizedCropRGBImageDecoder((CROP, CROP), scale=AREA, ratio=ASPECT),
            RandomHorizontalFlip(),
        ]
    else:
        first = [CenterCropRGBImageDecoder((CROP, CROP), ratio=CROP / RESIZE)]
    if not task.normalised:
        return [*first, ToTensor()]
    scale = NormalizeImage(np.array(MEAN) * 255, np.array(STD) * 255, np.float32)
    return [*first, scale, ToTensor(), ToTorchImage(channels_last=False)]


def epochs(task: Task) -> Epochs:
    """One loader for all epochs, as FFCV wants it."""
    loader = Loader(
        str(beton(task)),
        batch_size=task.batch,
        num_workers=task.threads,
        order=OrderOption.RANDOM,
        os_cache=True,
        drop_last=True,
        indices=np.tile(np.arange(data.SAMPLES), RAW_PASSES) if task.encoded else None,
        pipelines={"image": steps(task), "label": [IntDecoder()]},
    )
    return lambda: loader
