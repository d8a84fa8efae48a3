"""Hugging Face datasets: image bytes in Parquet, map-style, torch DataLoader with worker processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import torch

import data
from peers.vision import Loader, collate
from works import Batch, Epochs, Task

#: Passes that make one epoch of undecoded reading.
RAW_PASSES = 8


def prepare(task: Task) -> None:
    """One Parquet file, and the Arrow file that `load_dataset` makes of it."""

    def write(part: Path) -> None:
        images, labels = zip(*data.records(task.data, task.source), strict=True)
        datasets.Dataset.from_dict({"image": list(images), "label": list(labels)}).to_parquet(str(part))

    data.once(task.data / f"{task.source}.parquet", write)
    table(task)


def table(task: Task) -> datasets.Dataset:
    """The rows, memory-mapped."""
    datasets.disable_progress_bars()
    path = str(task.data / f"{task.source}.parquet")
    return datasets.load_dataset("parquet", data_files=path, split="train", cache_dir=str(task.data / "hf"))


def epochs(task: Task) -> Epochs:
    """Transforms run on access, inside the workers."""
    load = Loader(task)

    def transform(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
        return {"image": [load(body) for body in rows["image"]], "label": rows["label"]}

    def stack(samples: list[dict[str, Any]]) -> Batch:
        return collate([(s["image"], s["label"]) for s in samples])

    rows = table(task)
    if task.encoded:
        rows = datasets.concatenate_datasets([rows] * RAW_PASSES)
    rows = rows.with_transform(transform)
    return lambda: torch.utils.data.DataLoader(
        rows, task.batch, shuffle=True, num_workers=task.threads, collate_fn=stack, drop_last=True
    )
