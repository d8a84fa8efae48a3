"""Data that was given where paths are expected: what it is, and the function that reads it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from .opened.kinds import opened_kind

_TABLE = "tables in memory are read by infeed.open(data)"
_ARRAYS = "arrays in memory are read by infeed.arrays(x=data)"
_COLUMNS = "columns in memory are read by infeed.arrays(data)"
_SAMPLES = "a data set that returns samples is read by infeed.wrap(data)"
_OPENED = "open files and their arrays are read by infeed.arrays(data), or give the path"
_ROWS = "rows of an iterator are read by infeed.stream(data)"


def refuse_data(paths: Any) -> None:
    """Raise for data in memory, before it is iterated over: that could read a whole data set."""
    cure = _cure(paths)
    if cure is not None:
        raise TypeError(f"a path or a list of paths is expected here, got {_kind(paths)}: {cure}")


def refuse_item(item: Any) -> None:
    """Raise for an item of a list that is no path."""
    if isinstance(item, str | os.PathLike):
        return
    cure = "decode it to str first" if isinstance(item, bytes) else f"{_SAMPLES}, and arrays by infeed.arrays(x=data)"
    raise TypeError(f"a path or a list of paths is expected here, got a list with {_kind(item)}: {cure}")


def _cure(data: Any) -> str | None:
    if opened_kind(data) is not None:
        return _OPENED
    if isinstance(data, Mapping):
        return _COLUMNS
    if isinstance(data, bytes | bytearray | memoryview):
        return "paths are text"
    if isinstance(data, np.ndarray):
        # Arrays of text are lists of paths.
        return None if data.dtype.kind in "UO" and data.ndim == 1 else _ARRAYS
    for cls in type(data).__mro__:
        root = cls.__module__.partition(".")[0]
        if root in ("pandas", "polars") and cls.__name__ in ("DataFrame", "LazyFrame"):
            return _TABLE
        if root == "pyarrow" and cls.__name__ in ("Table", "RecordBatch", "Dataset", "RecordBatchReader"):
            return _TABLE
        if root == "datasets" or (root == "torch" and cls.__name__ in ("Dataset", "IterableDataset")):
            return _SAMPLES
        if root in ("torch", "jax", "jaxlib") and cls.__name__ in ("Tensor", "Array", "ArrayImpl"):
            return _ARRAYS
        if cls.__module__.startswith("infeed.pipeline"):
            return "it is a pipeline already, so go on with its methods"
    if callable(data) and not hasattr(data, "__iter__"):
        return _ROWS
    if not hasattr(data, "__iter__"):
        return _SAMPLES if hasattr(data, "__getitem__") else "give text, for example infeed.open('train-*.tar')"
    return None


def _kind(data: Any) -> str:
    cls = type(data)
    root = cls.__module__.partition(".")[0]
    return f"a {cls.__name__}" if root in ("builtins", "__main__") else f"a {root} {cls.__name__}"
