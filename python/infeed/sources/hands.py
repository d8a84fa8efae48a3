"""What people have in their hands: data frames, Arrow tables, arrays, and data sets of torch and Hugging Face."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..pipeline import Pipeline
from .memory import Arrays, of_arrays, of_samples, of_stream

#: The field of an array that has no name.
VALUE = "value"
_NO_ARROW = "reading {} needs pyarrow: pip install infeed[arrow]"


def from_object(data: Any) -> Pipeline | None:
    """The pipeline over an object in memory whose meaning is clear; None for everything else."""
    return from_table_like(data) or from_array(data) or from_data_set(data)


def from_table_like(data: Any, name: str | None = None) -> Pipeline | None:
    """Columns as fields: of a data frame, an Arrow table, a dict of arrays or a Hugging Face ``Dataset``."""
    data = one_split(data)
    kind = class_of(data)
    if kind == "datasets.Dataset":
        from .huggingface import from_dataset

        return from_dataset(data, name or "Dataset")
    if kind in ("pandas.DataFrame", "polars.DataFrame", "pyarrow.Table", "pyarrow.RecordBatch"):
        return _from_frame(data, kind, name or kind.partition(".")[2])
    if kind == "polars.LazyFrame":
        raise TypeError("a polars LazyFrame has no rows yet: give data.collect()")
    if isinstance(data, Mapping) and data and all(isinstance(key, str) for key in data):
        _refuse_paths(data)
        return of_arrays(Arrays(data, (), "a dict of columns -> its arrays, used where they lie"), name or "dict")
    return None


def from_array(data: Any, name: str | None = None) -> Pipeline | None:
    """The rows of one array or tensor, as the field ``value``; of a structured array, its fields."""
    if isinstance(data, np.ndarray):
        if data.dtype.kind in "UO" and data.ndim == 1:
            return None  # Arrays of text are lists of paths.
        if data.dtype.names:
            fields = {column: data[column] for column in data.dtype.names}
            return of_arrays(
                Arrays(fields, (), "a structured NumPy array -> one field per member"), name or "ndarray"
            )
    elif class_of(data) != "torch.Tensor":
        return None
    if not data.ndim:
        raise TypeError("an array without axes has no rows")
    words = f"one array of {len(data)} rows -> the field {VALUE!r}; infeed.arrays(x=data) names it"
    return of_arrays(Arrays({VALUE: data}, (), words), name or type(data).__name__)


def from_data_set(data: Any, name: str | None = None) -> Pipeline | None:
    """Samples of a torch data set, or of a Hugging Face data set that can only be iterated over."""
    data = one_split(data)
    kind = class_of(data)
    if kind in ("datasets.IterableDataset", "torch.IterableDataset"):
        return of_stream(data, name, f"{shown(data)} -> a stream of its samples, read from front to back in Python")
    if kind == "torch.Dataset" and hasattr(data, "__len__"):
        return of_samples(data, name, f"{shown(data)} -> samples made in Python, by data[row]")
    return None


def one_split(data: Any) -> Any:
    """The only split of a Hugging Face ``DatasetDict``; other objects as they are."""
    if class_of(data) not in ("datasets.DatasetDict", "datasets.IterableDatasetDict"):
        return data
    if len(data) == 1:
        return next(iter(data.values()))
    splits = ", ".join(map(repr, data)) or "none"
    first = next(iter(data), "train")
    raise TypeError(f"a Hugging Face {type(data).__name__} has several splits ({splits}): give one, data[{first!r}]")


def shown(data: Any) -> str:
    """What an object is, in words."""
    cls = type(data)
    root = cls.__module__.partition(".")[0]
    root = {"datasets": "Hugging Face"}.get(root, root)
    article = "an" if cls.__name__[0] in "AEIOU" else "a"
    return f"{article} {cls.__name__}" if root in ("builtins", "__main__") else f"{article} {cls.__name__} of {root}"


_KNOWN = {
    "datasets": ("DatasetDict", "IterableDatasetDict", "Dataset", "IterableDataset"),
    "pandas": ("DataFrame",),
    "polars": ("DataFrame", "LazyFrame"),
    "pyarrow": ("Table", "RecordBatch"),
    "torch": ("Tensor", "IterableDataset", "Dataset"),
}


def class_of(data: Any) -> str | None:
    """The class that is known of an object, or that it is a subclass of, without importing any library."""
    for cls in type(data).__mro__:
        root = cls.__module__.partition(".")[0]
        if cls.__name__ in _KNOWN.get(root, ()):
            return f"{root}.{cls.__name__}"
    return None


def _from_frame(data: Any, kind: str, name: str) -> Pipeline:
    from .arrow_tables import from_table

    what = f"{shown(data)}, {len(data)} rows"
    if kind == "pandas.DataFrame":
        data, more = _pandas(data, shown(data))
        what += more
        if isinstance(data, dict):
            return of_arrays(Arrays(data, (), f"{what} -> its columns"), name)
    elif kind == "polars.DataFrame":
        try:
            data = data.to_arrow()
        except ImportError as error:
            raise ImportError(_NO_ARROW.format(shown(data))) from error
    elif kind == "pyarrow.RecordBatch":
        data = sys.modules["pyarrow"].Table.from_batches([data])
    return from_table(data, what=what, name=name)


def _pandas(data: Any, what: str) -> tuple[Any, str]:
    """The columns of a pandas data frame as an Arrow table, or without pyarrow as arrays; and what was left out."""
    plain = type(data.index).__name__ == "RangeIndex" and data.index.name is None
    left = "" if plain else " (without its index: reset_index() makes it a column)"
    names = [str(column) for column in data.columns]
    try:
        import pyarrow as pa
    except ImportError as error:
        if len(data) and all(getattr(kind, "kind", "O") in "biuf" for kind in data.dtypes):
            return {column: data.iloc[:, at].to_numpy() for at, column in enumerate(names)}, left
        raise ImportError(_NO_ARROW.format(what)) from error
    try:
        table = pa.Table.from_pandas(data.set_axis(names, axis=1), preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise TypeError(
            f"a column of {what} holds objects that are no table: {error}. Make it numbers, text or bytes, or give a list"
            " of samples to infeed.wrap"
        ) from error
    return table, left


def _refuse_paths(data: Mapping[str, Any]) -> None:
    for key, value in data.items():
        if isinstance(value, str):
            raise TypeError(
                f"a dict with text under {key!r} is no table; if these are paths, give one: data[{key!r}]"
            )
