"""Grain: MapDataset over files, reading threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grain
import numpy as np
import torch

import data
from peers.vision import Loader
from works import Batch, Epochs, Task

#: Passes that make one epoch of undecoded reading.
RAW_PASSES = 8


def epochs(task: Task) -> Epochs:
    """Global shuffle; decode in threads; batches of NumPy arrays."""
    torch.set_num_threads(1)
    load = Loader(task)

    def read(sample: tuple[str, int]) -> tuple[Any, int]:
        image = load(Path(sample[0]).read_bytes())
        return (image if task.encoded else image.numpy()), sample[1]

    def stack(samples: list[tuple[Any, int]]) -> Batch:
        images, labels = zip(*samples, strict=True)
        return (list(images) if task.encoded else np.stack(images)), np.array(labels)

    rows = data.files(task.data, task.source) * (RAW_PASSES if task.encoded else 1)
    batches = grain.MapDataset.source(rows).shuffle(seed=0).map(read)
    batches = batches.batch(task.batch, drop_remainder=True, batch_fn=stack)
    options = grain.ReadOptions(num_threads=task.threads, prefetch_buffer_size=2 * task.threads)
    return lambda: batches.to_iter_dataset(options)
