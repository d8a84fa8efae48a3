"""Data sets of Hugging Face ``datasets``: their Arrow tables, or samples made in Python where a transform is set."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..pipeline import Pipeline
from .arrow_tables import TooLarge, from_table
from .memory import of_samples

#: Tables of Hugging Face lie in files that are mapped: a copy in memory may not be larger than this.
MOST_KEPT = 1 << 30


def from_dataset(dataset: Any, name: str) -> Pipeline:
    """The rows of a ``datasets.Dataset``."""
    what = f"a Dataset of Hugging Face, {len(dataset)} rows"
    reason = _reason(dataset)
    if reason is not None:
        return of_samples(dataset, name, f"{what} -> samples made in Python, by data[row]: {reason}")
    table = dataset.data.table
    chosen = dataset.format["columns"]
    names = [column for column in dataset.column_names if column in chosen]
    picked = _picked(dataset)
    if isinstance(picked, slice):
        table = table.slice(picked.start, picked.stop - picked.start)
        picked = None
    try:
        pipeline = from_table(table.select(names), what=what, name=name, most=MOST_KEPT)
    except TooLarge as reason:
        cure = "to_parquet() writes what infeed.parquet reads without Python"
        return of_samples(dataset, name, f"{what} -> samples made in Python, by data[row]: {reason}; {cure}")
    return pipeline if picked is None else pipeline.subset(picked)


def _reason(dataset: Any) -> str | None:
    """Why the columns of its table are not what its samples are; None if they are."""
    if dataset.format["type"] == "custom":
        return "a transform is set (set_transform)"
    if not len(dataset):
        return "it has no rows"
    for name, feature in dataset.features.items():
        if type(feature).__name__ in ("Image", "Audio", "Video", "Pdf") and _elsewhere(dataset, name):
            return f"files of the column {name!r} are outside of its table"
    return None


def _elsewhere(dataset: Any, name: str) -> bool:
    """Whether a column of images or sounds names files instead of holding their bytes."""
    for chunk in dataset.data.table.column(name).chunks:
        kind = chunk.type
        at = kind.get_field_index("bytes") if hasattr(kind, "get_field_index") else -1
        if at < 0 or (chunk.flatten()[at].null_count > chunk.null_count):
            return True
    return False


def _picked(dataset: Any) -> Any:
    """The rows of the table that the data set has, in its order: a slice, an array, or None for all of them."""
    if dataset._indices is None:
        return None
    rows = dataset._indices.column(0).to_numpy().astype(np.int64)
    first = int(rows[0])
    if int(rows[-1]) - first == len(rows) - 1 and (np.diff(rows) == 1).all():
        return slice(first, first + len(rows))
    return rows
