"""Shared by the loaders without their own transforms: torchvision's, from encoded bytes to tensor."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import torch
from PIL import Image
from torchvision.io import ImageReadMode, decode_image
from torchvision.transforms import InterpolationMode, v2

from works import AREA, ASPECT, CROP, MEAN, RESIZE, STD, Batch, Task


def transform(task: Task) -> v2.Transform:
    """The work's transforms, PIL image or u8 tensor in, tensor out."""
    bilinear = InterpolationMode.BILINEAR
    steps: list[Any]
    if task.random:
        steps = [
            v2.RandomResizedCrop(CROP, scale=AREA, ratio=ASPECT, interpolation=bilinear, antialias=True),
            v2.RandomHorizontalFlip(),
        ]
    else:
        steps = [v2.Resize(RESIZE, interpolation=bilinear, antialias=True), v2.CenterCrop(CROP)]
    steps.append(v2.ToImage())
    if task.normalised:
        steps += [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    return v2.Compose([*steps, v2.ToPureTensor()])


class Loader:
    """Encoded bytes to the output of the work. A class, so that it can be pickled for worker processes."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.transform = None if task.work in ("raw", "small") else transform(task)

    def __call__(self, body: bytes) -> Any:
        """One sample."""
        if self.task.encoded:
            return body
        if self.task.decoder == "io":
            image = decode_image(torch.frombuffer(bytearray(body), dtype=torch.uint8), ImageReadMode.RGB)
            return image if self.transform is None else self.transform(image)
        if self.task.decoder == "cv2":
            import cv2

            pixels = cv2.cvtColor(cv2.imdecode(np.frombuffer(body, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
            image = torch.from_numpy(pixels)
            return image if self.transform is None else self.transform(image.permute(2, 0, 1))
        picture = Image.open(io.BytesIO(body)).convert("RGB")
        return torch.from_numpy(np.array(picture)) if self.transform is None else self.transform(picture)


def collate(samples: list[tuple[Any, int]]) -> Batch:
    """Stack tensors, list bytes."""
    images, labels = zip(*samples, strict=True)
    stacked = torch.stack(images) if torch.is_tensor(images[0]) else list(images)
    return stacked, torch.tensor(labels)
