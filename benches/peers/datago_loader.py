"""datago: Rust threads that read, decode and resize files. It always decodes and has no augmentation."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import data
from works import CROP, MEAN, STD, Batch, Epochs, Task


def prepare(task: Task) -> None:
    """One flat folder, which is what its file source walks."""

    def write(part: Path) -> None:
        part.mkdir()
        for number, (path, label) in enumerate(data.files(task.data, task.source)):
            shutil.copyfile(path, part / f"{number:06d}_{label}.jpg")

    data.once(task.data / "flat", write)


def epochs(task: Task) -> Epochs:
    """A client per epoch; samples come one by one as PIL images and are stacked here, as its users do."""
    os.environ["DATAGO_MAX_TASKS"] = str(task.threads)
    import datago  # reads the variable above when it is imported

    datago.initialize_logging(log_level="warn")
    mean, std = np.float32(MEAN) * 255, np.float32(STD) * 255
    count = sum(1 for _ in os.scandir(task.data / "flat"))
    config = {
        "source_type": "file",
        "source_config": {
            "root_path": str(task.data / "flat"),
            "random_sampling": True,
            "rank": 0,
            "world_size": 1,
        },
        "image_config": {
            "crop_and_resize": True,
            "default_image_size": CROP,
            "downsampling_ratio": CROP,
            "min_aspect_ratio": 1.0,
            "max_aspect_ratio": 1.0,
            "pre_encode_images": False,
            "image_to_rgb8": True,
        },
        "limit": count,
        "samples_buffer_size": 2 * task.batch,
    }

    def epoch() -> Iterator[Batch]:
        client = datago.DatagoClient(json.dumps(config))
        client.start()
        try:
            images: list[np.ndarray] = []
            while (sample := client.get_sample()) is not None:
                images.append(np.asarray(sample.image))
                if len(images) == task.batch:
                    batch = np.stack(images)
                    if task.normalised:
                        batch = np.ascontiguousarray(((batch - mean) / std).transpose(0, 3, 1, 2))
                    yield batch, None
                    images = []
        finally:
            client.stop()

    return epoch
