"""NVIDIA DALI with CPU operators only, over files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import nvidia.dali as dali
from nvidia.dali import fn, types

import data
from works import AREA, ASPECT, CROP, MEAN, RESIZE, STD, Batch, Epochs, Task

#: Passes that make one epoch of undecoded reading.
RAW_PASSES = 8


def epochs(task: Task) -> Epochs:
    """A pipeline per epoch, decode fused with the crop. Batches are copied out: their memory is reused."""
    rows = data.files(task.data, task.source) * (RAW_PASSES if task.encoded else 1)
    scale = {"mean": [m * 255 for m in MEAN], "std": [s * 255 for s in STD], "output_layout": "CHW"}
    bilinear = {"interp_type": types.INTERP_LINEAR, "antialias": True}

    @dali.pipeline_def(batch_size=task.batch, num_threads=task.threads, device_id=None, prefetch_queue_depth=2)
    def pipeline() -> tuple[Any, Any]:
        body, label = fn.readers.file(files=[f for f, _ in rows], labels=[y for _, y in rows], random_shuffle=True)
        if task.encoded:
            return body, label
        if task.work == "small":
            return fn.decoders.image(body, device="cpu"), label
        if not task.random:
            image = fn.decoders.image(body, device="cpu")
            image = fn.resize(image, resize_shorter=RESIZE, **bilinear)
            return fn.crop_mirror_normalize(image, crop=(CROP, CROP), **scale), label
        image = fn.decoders.image_random_crop(body, device="cpu", random_area=AREA, random_aspect_ratio=ASPECT)
        image = fn.resize(image, size=(CROP, CROP), **bilinear)
        flip = fn.random.coin_flip()
        if not task.normalised:
            return fn.flip(image, horizontal=flip), label
        return fn.crop_mirror_normalize(image, mirror=flip, **scale), label

    def epoch() -> Iterator[Batch]:
        pipe = pipeline()
        pipe.build()
        for _ in range(len(rows) // task.batch):
            images, labels = pipe.run()
            if task.encoded:
                yield [np.array(images.at(i)) for i in range(len(images))], np.array(labels.as_array())
            else:
                yield np.array(images.as_array()), np.array(labels.as_array())

    return epoch
