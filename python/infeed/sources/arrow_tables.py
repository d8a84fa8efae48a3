"""Arrow tables in memory: columns of numbers, text and bytes are used in place; other tables become an Arrow file."""

from __future__ import annotations

import hashlib
import sys
import weakref
from collections import Counter
from typing import Any

import numpy as np

from .. import _core
from ..pipeline import Pipeline
from .joins import concat
from .memory import Arrays, Cells, of_arrays

#: Tables that lie in several chunks are put together up to this many bytes: one source is simpler than many.
MOST_COPIED = 256 << 20
#: Rows of a block of a table that is kept as an Arrow file.
BLOCK = 65_536


class TooLarge(ValueError):
    """A table that would have to be copied, and is too large for that."""


def from_table(table: Any, *, what: str, name: str, most: int | None = None) -> Pipeline:
    """The rows of a ``pyarrow.Table``. ``what`` says what it was made of, for ``explain()``.

    A table that cannot be used in place and has more than ``most`` bytes raises :class:`TooLarge`, with the reason.
    """
    names = table.column_names
    if len(set(names)) < len(names):
        raise ValueError(
            f"two columns are called {next(n for n in names if names.count(n) > 1)!r}: rename one of them"
        )
    if not names:
        raise ValueError(f"{what} has no columns, so there is nothing to read")
    if table.num_rows == 0:
        raise ValueError(f"{what} has no rows, so there is nothing to read")
    table = _with_plain_types(table)
    if max(column.num_chunks for column in table.columns) > 1 and table.nbytes <= MOST_COPIED:
        table = table.combine_chunks()
    chunks = _chunks(table)
    if isinstance(chunks, str):
        if most is not None and table.nbytes > most:
            raise TooLarge(chunks)
        return _kept(table, f"{what} -> a copy in memory in Arrow's format: {chunks}")
    words = f"{what} -> its columns, used where they lie"
    if len(chunks) == 1:
        return of_arrays(Arrays(chunks[0], (), words), name)
    return concat(of_arrays(Arrays(part, (), words), f"{name} {at}") for at, part in enumerate(chunks))


def _chunks(table: Any) -> list[dict[str, Any]] | str:
    """The columns of every chunk, or why they cannot be used in place."""
    out: list[dict[str, Any]] = []
    for batch in table.to_batches():
        part = {}
        for name in table.column_names if batch.num_rows else ():
            column = batch.column(name)
            part[name] = _cells(column)
            if part[name] is None:
                return f"the column {name!r} " + ("has missing values" if column.null_count else f"is {column.type}")
        if part:
            out.append(part)
    for name, first in out[0].items():
        if isinstance(first, np.ndarray) and any(part[name].shape[1:] != first.shape[1:] for part in out):
            return f"lists of the column {name!r} differ in length"
    return out


def _with_plain_types(table: Any) -> Any:
    """The table with extension types, dictionaries and views as the types that they stand for."""
    pa = sys.modules["pyarrow"]
    for at, column in enumerate(table.columns):
        kind = column.type
        if isinstance(kind, pa.BaseExtensionType):
            chunks = [chunk.storage for chunk in column.chunks]
            table = table.set_column(at, table.column_names[at], pa.chunked_array(chunks, kind.storage_type))
        elif pa.types.is_dictionary(kind):
            table = table.set_column(at, table.column_names[at], column.cast(kind.value_type))
        elif str(kind) in ("string_view", "binary_view"):
            wide = pa.large_string() if str(kind) == "string_view" else pa.large_binary()
            table = table.set_column(at, table.column_names[at], column.cast(wide))
    return table


def _cells(array: Any) -> Any:
    """A chunk of a column as a NumPy array or as cells of text or bytes; None if it is something else."""
    types = sys.modules["pyarrow"].types
    kind = array.type
    if types.is_floating(kind):
        return array.to_numpy(zero_copy_only=False)
    if array.null_count:
        return None
    if types.is_boolean(kind) or types.is_integer(kind):
        return array.to_numpy(zero_copy_only=False)
    if types.is_string(kind) or types.is_large_string(kind):
        return _pieces(array, text=True)
    if types.is_binary(kind) or types.is_large_binary(kind):
        return _pieces(array, text=False)
    if types.is_struct(kind) and {field.name for field in kind} == {"bytes", "path"}:
        # Images and sounds of Hugging Face.
        data = array.flatten()[kind.get_field_index("bytes")]
        return None if data.null_count or not types.is_binary(data.type) else _pieces(data, text=False)
    return _stacked(array)


def _stacked(array: Any) -> Any:
    """Lists of numbers, also nested ones, that all have one length, as one array."""
    types = sys.modules["pyarrow"].types
    shape = [len(array)]
    while types.is_list(array.type) or types.is_large_list(array.type) or types.is_fixed_size_list(array.type):
        if array.null_count:
            return None
        inner = array.flatten()
        width = len(inner) // max(1, len(array))
        fixed = types.is_fixed_size_list(array.type)
        if not width or not (fixed or (np.asarray(array.value_lengths()) == width).all()):
            return None
        shape.append(width)
        array = inner
    if len(shape) == 1 or not (types.is_integer(array.type) or types.is_floating(array.type)) or array.null_count:
        return None
    return array.to_numpy(zero_copy_only=False).reshape(shape)


def _pieces(array: Any, *, text: bool) -> Cells:
    types = sys.modules["pyarrow"].types
    wide = types.is_large_string(array.type) or types.is_large_binary(array.type)
    _, offsets, data = array.buffers()
    places = np.frombuffer(offsets, dtype=np.int64 if wide else np.int32)[array.offset :][: len(array) + 1]
    return Cells(data if data is not None else b"", places.astype(np.uint64), text=text)


def _kept(table: Any, words: str) -> Pipeline:
    kept = Kept(table, words)
    return Pipeline({"source": {"paths": [kept.name], "format": "arrow", "args": {}}, "stage": []}, {kept.name: kept})


_HOLDERS: Counter[str] = Counter()


class Kept:
    """A table as an Arrow stream in the ``mem:`` store, as long as a pipeline needs it. Equal tables have one name."""

    def __init__(self, table: Any, words: str) -> None:
        self.table, self.words = table, words
        data = _stream_of(table)
        self.name = f"mem:table-{hashlib.sha256(data).hexdigest()[:24]}.arrow"
        if not _HOLDERS[self.name]:
            _core.put_object(self.name, memoryview(data).cast("B"))
        _HOLDERS[self.name] += 1
        weakref.finalize(self, _let_go, self.name).atexit = False

    @property
    def given(self) -> None:
        """Nothing: the engine reads the store."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kept) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Kept, (self.table, self.words)


def _let_go(name: str) -> None:
    _HOLDERS[name] -= 1
    if not _HOLDERS[name]:
        del _HOLDERS[name]
        _core.remove_object(name)


def _stream_of(table: Any) -> Any:
    pa = sys.modules["pyarrow"]
    import pyarrow.ipc

    # Metadata of pandas and of Hugging Face differs between versions, and says nothing about the rows.
    plain = table.replace_schema_metadata(None)
    out = pa.BufferOutputStream()
    with pyarrow.ipc.new_stream(out, plain.schema) as stream:
        stream.write_table(plain, max_chunksize=BLOCK)
    return out.getvalue()
