"""A small table, and the rows of pipelines as plain values."""

from __future__ import annotations

import numpy as np

COLUMNS = {"x": [3, 1, 2, 7, 5], "text": ["a", "bb", "", "ü", "e"], "y": [0.5, 1.5, 2.5, 3.5, 4.5]}


def rows(pipeline, size=2, **options):
    """All rows of a pipeline, as a list of dicts of plain values."""
    out = []
    with pipeline.batch(size).to_numpy(**options) as loader:
        for batch in loader:
            names = [name for name in batch if not name.startswith("__")]
            out += [{name: plain(batch[name][at]) for name in names} for at in range(len(batch[names[0]]))]
    return out


def plain(value):
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def as_rows(columns):
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
