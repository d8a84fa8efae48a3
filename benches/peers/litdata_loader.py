"""litdata: chunks of encoded bytes, its own StreamingDataLoader with worker processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import litdata

import data
from peers.vision import Loader, collate
from works import Batch, Epochs, Task


class Rows:
    """Hands `optimize` one sample by number."""

    def __init__(self, task: Task) -> None:
        self.rows = list(data.records(task.data, task.source))

    def __call__(self, number: int) -> dict[str, Any]:
        """One sample."""
        image, label = self.rows[number]
        return {"image": image, "label": label}


def prepare(task: Task) -> None:
    """Chunks of 32 MB."""

    def write(part: Path) -> None:
        rows = Rows(task)
        litdata.optimize(
            fn=rows,
            inputs=list(range(len(rows.rows))),
            output_dir=str(part),
            chunk_bytes="32MB",
            num_workers=1,
            start_method="fork",
        )

    data.once(task.data / f"{task.source}.litdata", write)


class Dataset(litdata.StreamingDataset):
    """Decodes on access, inside the workers."""

    def __init__(self, task: Task) -> None:
        super().__init__(str(task.data / f"{task.source}.litdata"), shuffle=True)
        self.load = Loader(task)

    def __getitem__(self, index: Any) -> tuple[Any, int]:
        row = super().__getitem__(index)
        return self.load(row["image"]), row["label"]


def epochs(task: Task) -> Epochs:
    """A fresh data set and loader per epoch: both carry state from one epoch to the next."""

    def epoch() -> Iterator[Batch]:
        return iter(
            litdata.StreamingDataLoader(
                Dataset(task),
                batch_size=task.batch,
                num_workers=task.threads,
                collate_fn=collate,
                drop_last=True,
            )
        )

    return epoch
