"""MosaicML streaming: MDS shards, torch DataLoader with worker processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streaming
import torch

import data
from peers.vision import Loader, collate
from works import Epochs, Task


def prepare(task: Task) -> None:
    """Shards of 32 MB, not compressed."""

    def write(part: Path) -> None:
        columns = {"image": "bytes", "label": "int"}
        with streaming.MDSWriter(out=str(part), columns=columns, size_limit=1 << 25) as out:
            for image, label in data.records(task.data, task.source):
                out.write({"image": image, "label": label})

    data.once(task.data / f"{task.source}.mds", write)


class Dataset(streaming.StreamingDataset):
    """Decodes on access, inside the workers."""

    def __init__(self, task: Task) -> None:
        super().__init__(local=str(task.data / f"{task.source}.mds"), shuffle=True, batch_size=task.batch)
        self.load = Loader(task)

    def __getitem__(self, at: Any) -> tuple[Any, int]:
        row = super().__getitem__(at)
        return self.load(row["image"]), row["label"]


def epochs(task: Task) -> Epochs:
    """One data set for all epochs: it keeps its place in shared memory."""
    # An interrupted run leaves shared memory behind that makes the next one fail.
    streaming.base.util.clean_stale_shared_memory()
    rows = Dataset(task)
    return lambda: torch.utils.data.DataLoader(
        rows, task.batch, num_workers=task.threads, collate_fn=collate, drop_last=True
    )
