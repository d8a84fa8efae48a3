"""The Arrow door: batches as ``pyarrow.RecordBatch``, which Polars, pandas, DuckDB and others accept directly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .. import _core
from ..batch import Batch
from .loader import Loader
from .options import LoaderOptions
from .specs import Spec, specs

try:
    import pyarrow as pa
except ImportError as error:  # pragma: no cover - depends on the environment
    raise ImportError("to_arrow needs pyarrow: pip install infeed[arrow]") from error

if TYPE_CHECKING:
    from ..pipeline import Pipeline

_META = (("__key__", pa.string()), ("__row__", pa.int64()), ("__url__", pa.string()))


class ArrowLoader(Loader):
    """A :class:`~infeed.loader.Loader` whose batches are ``pyarrow.RecordBatch``.

    Numbers become primitive columns, arrays nested lists (of fixed size where the shape is fixed), text and JSON
    strings, bytes binary columns. Numeric columns share the batch's memory; booleans, text, bytes and arrays of varying
    shape are copied. Arrays laid end to end (``ragged="flat"``) are columns of lists that share the memory, and have no
    column of offsets. All batches have the same :attr:`schema`. With ``meta=True`` the columns ``__key__``, ``__row__``
    and ``__url__`` say where each sample came from.

    The loader itself is an Arrow stream (``__arrow_c_stream__``): ``polars.DataFrame(loader)`` reads one epoch.
    """

    def __init__(self, pipeline: Pipeline, *, meta: bool = False, **options: Unpack[LoaderOptions]) -> None:
        super().__init__(pipeline, **options)
        self.meta = meta
        known, as_tuple = specs(pipeline)
        if as_tuple and pipeline._runs_python and any(spec.layout == "flat" for spec in known):
            raise TypeError('to_arrow takes samples laid end to end by name: leave to_tuple() or ragged="flat" out')
        self._ends = {spec.name for spec in known if spec.layout == "offsets"}
        self._specs = [spec for spec in known if spec.name not in self._ends]
        fields = [pa.field(spec.name, _type(spec)) for spec in self._specs]
        fields += [pa.field(name, kind) for name, kind in _META] if meta else []
        self.schema: pa.Schema = pa.schema(fields)

    def reader(self) -> pa.RecordBatchReader:
        """The next epoch as a stream of Arrow batches."""
        return pa.RecordBatchReader.from_batches(self.schema, iter(self))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.reader().__arrow_c_stream__(requested_schema)

    def _hand_out(self, batch: _core.Batch) -> Any:
        arrays = [self._made_by_engine(spec, batch) for spec in self._specs]
        return self._record(arrays, *((batch.keys(), batch.rows(), batch.shards()) if self.meta else ()))

    def _made_by_engine(self, spec: Spec, batch: _core.Batch) -> pa.Array:
        if spec.layout == "flat":
            values, ends = (
                self._convert(batch.column(name), "array") for name in (spec.name, f"{spec.name}_offsets")
            )
            return _lists(spec, values, ends)
        if spec.kind not in ("text", "json", "bytes"):
            return _column(spec, self._convert(batch.column(spec.name), self._kinds[spec.name]))
        # Text goes from the engine's memory into Arrow's without a Python object per value.
        nulls, ends, said = batch.gathered(spec.name)
        buffers = [None if nulls is None else pa.py_buffer(nulls), pa.py_buffer(ends), pa.py_buffer(said)]
        return pa.Array.from_buffers(_type(spec), len(batch), buffers)

    def _whole(self, value: Any, batch: _core.Batch) -> Any:
        if self.meta and not isinstance(value, Batch):
            raise TypeError("meta=True needs samples that are dicts: functions gave something else")
        named = isinstance(value, Batch)
        columns = [value[name] for name in value if name not in self._ends] if named else list(value)
        arrays = [
            _lists(spec, column, value[f"{spec.name}_offsets"]) if spec.layout == "flat" else _column(spec, column)
            for spec, column in zip(self._specs, columns, strict=True)
        ]
        return self._record(arrays, *((value["__key__"], value["__row__"], value["__url__"]) if self.meta else ()))

    def _record(self, arrays: list[pa.Array], *where: Any) -> Any:
        if where:
            arrays += [pa.array(column, kind) for column, (_, kind) in zip(where, _META, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _convert(self, column: Any, kind: str, array: Any = None) -> Any:
        # Arrow has no JSON type: JSON stays text.
        return column if kind == "json" else super()._convert(column, kind, array)

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild, (kind, pipeline, options, state) = super().__reduce__()
        return rebuild, (kind, pipeline, options | {"meta": self.meta}, state)


def _type(spec: Spec) -> pa.DataType:
    if spec.kind in ("text", "json"):
        return pa.string()
    if spec.kind == "bytes":
        return pa.binary()
    try:
        out = pa.from_numpy_dtype(spec.dtype)
    except (pa.ArrowNotImplementedError, NotImplementedError):
        raise TypeError(
            f"Arrow has no type for {spec.dtype}, which the field {spec.name!r} is made of;"
            ' map(T.ToDtype("f32")) makes it f32'
        ) from None
    for size in reversed(spec.shape):
        out = pa.list_(pa.field("item", out, nullable=False), -1 if size is None else size)
    return pa.list_(pa.field("item", out, nullable=False)) if spec.layout == "flat" else out


def _column(spec: Spec, column: Any) -> pa.Array:
    if spec.kind in ("text", "json"):
        return pa.array(column, pa.string())
    if spec.kind == "bytes" and any(isinstance(item, bytes) for item in column):
        return pa.array([None if item is None else bytes(item) for item in column], pa.binary())
    if isinstance(column, list):
        return _gathered(spec, column)
    return _nested(spec, _flat(column), [column.shape[1:]] * len(column), None)


def _lists(spec: Spec, values: np.ndarray[Any, Any], ends: np.ndarray[Any, Any]) -> pa.Array:
    """Samples laid end to end as lists, without a copy of the values."""
    items = _nested(spec, _flat(values), [values.shape[1:]] * len(values), None)
    buffers = [None, _offsets(spec, np.diff(ends))]
    return pa.Array.from_buffers(_type(spec), len(ends) - 1, buffers, children=[items])


def _gathered(spec: Spec, column: Sequence[np.ndarray[Any, Any] | None]) -> pa.Array:
    """One column of separate arrays, some of which may be missing."""
    missing = np.fromiter((item is None for item in column), bool, len(column))
    nulls = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    rank = len(spec.shape)
    empty = np.zeros([size or 0 for size in spec.shape], spec.dtype)
    there = [empty if item is None else np.asarray(item) for item in column]
    for item in there:
        if item.ndim != rank or item.dtype != spec.dtype:
            raise TypeError(
                f"the field {spec.name!r} began with {rank}-dimensional {spec.dtype} and now has"
                f" {item.ndim}-dimensional {item.dtype}: an Arrow column has one type"
            )
    flat = np.concatenate([item.reshape(-1) for item in there]) if there else np.zeros(0, spec.dtype)
    if spec.kind == "bytes":
        buffers = [nulls, _offsets(spec, [len(item) for item in there]), pa.py_buffer(flat)]
        return pa.Array.from_buffers(pa.binary(), len(there), buffers)
    return _nested(spec, _flat(flat), [item.shape for item in there], nulls)


def _flat(array: np.ndarray[Any, Any]) -> pa.Array:
    """All values as a flat Arrow array, without a copy."""
    if array.dtype == bool:
        # Arrow packs eight booleans into a byte.
        return pa.array(array.reshape(-1))
    values = np.ascontiguousarray(array).reshape(-1)
    return pa.Array.from_buffers(pa.from_numpy_dtype(array.dtype), len(values), [None, pa.py_buffer(values)])


def _nested(spec: Spec, values: pa.Array, shapes: Sequence[tuple[int, ...]], nulls: pa.Buffer | None) -> pa.Array:
    """Lists around the values, from the innermost axis outwards."""
    out = values
    uniform = len(set(shapes)) <= 1
    for axis in reversed(range(len(spec.shape))):
        counts = [math.prod(shape[:axis]) for shape in shapes]
        size = spec.shape[axis]
        field = pa.field("item", out.type, nullable=False)
        buffer = nulls if axis == 0 else None
        if size is not None:
            for shape in shapes[:1] if uniform else shapes:
                if shape[axis] != size:
                    raise ValueError(f"the field {spec.name!r} has samples of shape {spec.shape}, and one of {shape}")
            kind = pa.list_(field, size)
            out = pa.Array.from_buffers(kind, sum(counts), [buffer], children=[out])
        else:
            lengths = np.repeat([shape[axis] for shape in shapes], counts)
            buffers = [buffer, _offsets(spec, lengths)]
            out = pa.Array.from_buffers(pa.list_(field), len(lengths), buffers, children=[out])
    return out


def _offsets(spec: Spec, lengths: Any) -> pa.Buffer:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] > np.iinfo(np.int32).max:
        raise OverflowError(
            f"the field {spec.name!r} has {offsets[-1]} elements in one batch, more than an Arrow list can count; make"
            " batches smaller"
        )
    return pa.py_buffer(offsets.astype(np.int32))
