"""Pipelines over Python objects: arrays in memory, and data sets that return samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..pipeline import Pipeline
from .streams import Rows

_TYPES = {"bool": "bool", "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16"}
_TYPES |= {f"{sign}int{bits}": f"{'u' if sign else 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def arrays(
    fields: Any = None,
    *,
    images: Sequence[str] = (),
    name: str = "arrays",
    **more: Any,
) -> Pipeline:
    """Read rows of arrays in memory: ``infeed.arrays(x=x, y=y)``. The first dimension counts rows.

    Values are NumPy arrays, torch tensors, or lists of ``bytes`` or ``str``. Nothing is copied before a sample is made.
    ``images`` names the u8 arrays (rows x height x width x channels, or without channels for grey) that are images for
    the transforms of :mod:`infeed.transforms`.

    ``fields`` may also be a data frame (pandas, Polars), an Arrow table or record batch, or a Hugging Face ``Dataset``,
    whose columns become fields, or one array, which becomes the field ``value``; see ``docs/tables.md``.

    Or it is an open file, or a group or array of one: of h5py, netCDF4, zarr, xarray or dask. Then the engine reads
    that file, and ``more`` are the arguments of its format (``variables``, ``window``, ...): see ``docs/arrays.md``.
    """
    if fields is not None and type(fields) is not dict:
        from .hands import from_array, from_table_like, shown
        from .opened import from_opened

        if not images:
            made = from_opened(fields, more)
            if made is not None:
                return made
        made = from_table_like(fields, name) or from_array(fields, name)
        if made is None:
            raise TypeError(
                f"arrays takes arrays by name, infeed.arrays(x=x, y=y), or a table, got {shown(fields)}: name the"
                " array, infeed.arrays(x=data), or read a list of samples with infeed.wrap(data)"
            )
        if images or more:
            raise TypeError("arrays takes either one table, or arrays by name: put all columns into one dict")
        return made
    given = {**(fields or {}), **more}
    if not given:
        raise ValueError("arrays needs at least one field, for example infeed.arrays(x=x, y=y)")
    unknown = [image for image in images if image not in given]
    if unknown:
        raise ValueError(f"images names {unknown[0]!r}; the fields are {', '.join(given)}")
    if not images:
        from .opened import from_arrays

        made = from_arrays(given)
        if made is not None:
            return made
    return of_arrays(Arrays(given, images), name)


def of_arrays(arrays: Arrays, name: str) -> Pipeline:
    """The pipeline over fields in memory."""
    return Pipeline({"source": {"paths": [name], "format": "arrays"}, "stage": []}, {name: arrays})


def wrap(data: Any, *, name: str | None = None) -> Pipeline:
    """Read samples from an object with ``__getitem__`` and ``__len__`` (a torch ``Dataset``, a list), or ``__iter__``.

    Samples may be anything: dicts, tuples, arrays, tensors. They are made in the workers that the door has
    (``workers=``), in the order of the pipeline, and collated as :meth:`Pipeline.batch` describes. Iterables are
    streams (see :func:`infeed.stream`); a tuple has the fields ``"0"``, ``"1"``, and a single value is ``"value"``.

    Data frames, Arrow tables and dicts of arrays have no samples by index: their columns become fields, as
    :func:`infeed.arrays` makes them. So do the arrays of an open file (h5py, netCDF4, zarr, xarray).
    """
    from .hands import class_of, from_data_set, from_table_like, one_split, shown
    from .opened import from_opened, is_group

    if isinstance(data, Pipeline):
        raise TypeError("wrap takes a data set, and this is a pipeline already: go on with its methods")
    if getattr(data, "_is_for_looking", False):
        return of_stream(data, name, f"{shown(data)} -> a stream of its batches, read from front to back in Python")
    if is_group(data):
        made = from_opened(data)
        if made is not None:
            return made
    data = one_split(data)
    if class_of(data) != "datasets.Dataset":  # Its samples are what data[row] gives.
        made = from_table_like(data, name) or from_data_set(data, name)
        if made is not None:
            return made
    if hasattr(data, "__getitem__") and hasattr(data, "__len__"):
        return of_samples(data, name, f"{shown(data)} -> samples made in Python, by data[row]")
    if hasattr(data, "__iter__"):
        return of_stream(data, name, f"{shown(data)} -> a stream of its items, read from front to back in Python")
    raise TypeError(f"wrap takes something with __getitem__ and __len__, or __iter__, got {data!r}")


def of_samples(data: Any, name: str | None, words: str) -> Pipeline:
    """The pipeline over an object that returns samples by index."""
    name = name or type(data).__qualname__
    return Pipeline({"source": {"paths": [name], "format": "rows"}, "stage": []}, {name: Wrapped(data, words)})


def of_stream(data: Any, name: str | None, words: str) -> Pipeline:
    """The pipeline over an object that can only be iterated over."""
    name = name or type(data).__qualname__
    return Pipeline({"source": {"paths": [name], "format": "python"}, "stage": []}, {name: Rows(_Items(data), words)})


class Wrapped:
    """An object that returns samples by index. The engine handles only row numbers."""

    def __init__(self, data: Any, words: str = "") -> None:
        self.object = data
        self.words = words

    @property
    def given(self) -> int:
        """The number of rows."""
        return len(self.object)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Wrapped) and self.object is other.object

    def __hash__(self) -> int:
        return id(self.object)


class _Items:
    """An iterable whose items become rows."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __call__(self) -> Iterator[Mapping[str, Any]]:
        for item in self.data:
            if isinstance(item, Mapping):
                yield item
            elif isinstance(item, list | tuple):
                yield {str(i): value for i, value in enumerate(item)}
            else:
                yield {"value": item}


class Arrays:
    """Fields for the engine: without a copy if the memory is contiguous."""

    def __init__(self, fields: Mapping[str, Any], images: Sequence[str], words: str = "") -> None:
        self.fields = dict(fields)
        self.images = tuple(images)
        self.words = words
        counts = {name: _rows(name, value) for name, value in self.fields.items()}
        self.rows = next(iter(counts.values()))
        for name, count in counts.items():
            if count != self.rows:
                first = next(iter(counts))
                raise ValueError(f"the field {name!r} has {count} rows, and {first!r} has {self.rows}")

    @property
    def given(self) -> tuple[int, list[tuple[Any, ...]]]:
        """Number of rows, and for each field name, kind, element type, shape, memory and offsets."""
        return self.rows, [self._field(name, value) for name, value in self.fields.items()]

    def _field(self, name: str, value: Any) -> tuple[Any, ...]:
        if isinstance(value, Cells):
            return (name, "text" if value.text else "bytes", "u8", (), value.data, value.offsets)
        if isinstance(value, list | tuple) and value and isinstance(value[0], bytes | str):
            return self._field(name, Cells.of(name, value))
        try:
            array = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
        except ValueError as error:
            raise ValueError(
                f"the rows of the field {name!r} differ in shape: pad them, or give a list of samples to infeed.wrap"
            ) from error
        if array.dtype.kind in "USO" and array.ndim == 1 and len(array) and isinstance(array[0], str | bytes):
            return self._field(name, Cells.of(name, array.tolist()))
        if array.dtype.name not in _TYPES:
            raise TypeError(f"the field {name!r} is an array of {array.dtype}, which no tensor can hold")
        array = np.ascontiguousarray(array).reshape(array.shape)
        shape = array.shape[1:]
        kind = "array"
        if name in self.images:
            shape = (*shape, 1) if len(shape) == 2 else shape
            if array.dtype != np.uint8 or len(shape) != 3:
                raise TypeError(
                    f"images are u8, rows x height x width x channels, and {name!r} is {array.dtype}{array.shape}"
                )
            kind = "image"
        return (name, kind, _TYPES[array.dtype.name], shape, array.reshape(-1).view(np.uint8).data, b"")

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Arrays) and self.images == other.images and self.fields.keys() == other.fields.keys()
        return same and all(value is other.fields[name] for name, value in self.fields.items())  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.rows, *self.fields))


def _rows(name: str, value: Any) -> int:
    if isinstance(value, str | bytes) or not hasattr(value, "__len__"):
        raise TypeError(
            f"the field {name!r} is {type(value).__name__}, and arrays needs one entry per row: an array, or a list"
        )
    return len(value)


class Cells:
    """Bytes or text in one buffer: ``offsets`` (u64) has the start of each value, and the end of the last."""

    def __init__(self, data: Any, offsets: npt.NDArray[np.uint64], *, text: bool) -> None:
        self.data = memoryview(data).cast("B")
        self._offsets = np.ascontiguousarray(offsets, dtype=np.uint64)
        self.text = text

    @classmethod
    def of(cls, name: str, values: Sequence[bytes | str]) -> Cells:
        """Build from a list."""
        text = isinstance(values[0], str)
        if not all(isinstance(value, str if text else bytes) for value in values):
            raise TypeError(f"the field {name!r} mixes text with other types")
        parts = [value.encode() if isinstance(value, str) else value for value in values]
        offsets = np.zeros(len(parts) + 1, dtype=np.uint64)
        np.cumsum([len(part) for part in parts], out=offsets[1:])
        return cls(b"".join(parts), offsets, text=text)

    @property
    def offsets(self) -> memoryview:
        """The offsets as bytes."""
        return self._offsets.view(np.uint8).data

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __reduce__(self) -> tuple[Any, ...]:
        return _cells, (bytes(self.data), self._offsets, self.text)


def _cells(data: bytes, offsets: npt.NDArray[np.uint64], text: bool) -> Cells:
    return Cells(data, offsets, text=text)
