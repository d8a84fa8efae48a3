"""Long lists, packed: updating the reference counts of entries copies their pages, which makes forked workers grow.

A :class:`SharedList` keeps the values as bytes in memory that all workers map, and creates entries on access.
"""

from __future__ import annotations

import marshal
import operator
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NoReturn, overload

import numpy as np

from .memory import Mapping, new_file

LONG = 10_000
"""Lists with fewer entries are not packed."""
_PLAIN = {str, bytes, int, float, bool, type(None)}


class SharedFile:
    """Bytes that all workers map: written once by the consumer, then only read."""

    def __init__(self, fd: int | None = None, size: int = 0) -> None:
        self.fd = new_file("infeed-shared") if fd is None else fd
        self.size = size

    def put(self, data: Any) -> tuple[int, int]:
        """Append data; returns offset and length."""
        view = memoryview(data).cast("B")
        start = -(-self.size // 64) * 64
        at = start
        while view.nbytes:
            written = os.pwrite(self.fd, view, at)
            view, at = view[written:], at + written
        self.size = at
        return start, at - start

    def map(self) -> memoryview:
        """Map all bytes into this process. Writes are private to this process."""
        if self.size == 0:
            return memoryview(bytearray())
        return memoryview(Mapping(self.fd, self.size, private=True).lease()).cast("B")

    def close(self) -> None:
        """Close the file; what is mapped stays."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


# A packed list is described by a tuple: its kind, its length, and the offsets of its arrays.
Packed = tuple[str, int, Any]


def pack(values: Sequence[Any], file: SharedFile) -> Packed | None:
    """Write the entries of a list; None if they are not all plain values or tuples of these."""
    if not _is_plain(values):
        return None
    return _pack(values, file)


def _is_plain(values: Sequence[Any]) -> bool:
    kinds = set(map(type, values))
    if tuple not in kinds:
        return kinds <= _PLAIN
    return kinds <= _PLAIN | {tuple} and all(_is_plain(v) for v in values if type(v) is tuple)


def _pack(values: Sequence[Any], file: SharedFile) -> Packed:
    kinds = set(map(type, values))
    count = len(values)
    if kinds == {tuple}:
        widths = set(map(len, values))
        if len(widths) == 1 and widths != {0}:
            columns = list(zip(*values, strict=True))
            # Columns with tuples would nest; such entries are rare enough for the general encoding.
            if all(tuple not in set(map(type, column)) for column in columns):
                return "tuple", count, [_pack(column, file) for column in columns]
    if kinds == {float}:
        return "float", count, file.put(np.array(values, np.float64))
    if kinds == {bool}:
        return "bool", count, file.put(np.array(values, np.bool_))
    if kinds == {int}:
        try:
            return "int", count, file.put(np.array(values, np.int64))
        except OverflowError:
            pass
    if kinds == {str} and (joined := "".join(values)).isascii():
        return "ascii", count, _cut(joined.encode(), map(len, values), count, file)
    if kinds == {str}:
        texts = [v.encode("utf-8", "surrogatepass") for v in values]
        return "str", count, _cut(b"".join(texts), map(len, texts), count, file)
    if kinds == {bytes}:
        return "bytes", count, _cut(b"".join(values), map(len, values), count, file)
    blobs = [marshal.dumps(v) for v in values]
    return "any", count, _cut(b"".join(blobs), map(len, blobs), count, file)


def _cut(data: bytes, lengths: Iterator[int], count: int, file: SharedFile) -> Any:
    ends = np.zeros(count + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, count), out=ends[1:])
    narrow = len(data) < 1 << 32
    return file.put(data), file.put(ends.astype(np.uint32) if narrow else ends), narrow


def unpack(packed: Packed, memory: memoryview) -> SharedList:
    """A packed list, over the same bytes in any process."""
    return SharedList(packed[1], _reader(packed, memory))


def _reader(packed: Packed, memory: memoryview) -> Callable[[int, int], list[Any]]:
    """The function that creates the entries from ``start`` to ``stop``."""
    kind, _, where = packed
    if kind == "tuple":
        columns = [_reader(column, memory) for column in where]
        return lambda start, stop: list(zip(*(column(start, stop) for column in columns), strict=True))
    if kind in ("int", "float", "bool"):
        dtype: Any = {"int": np.int64, "float": np.float64, "bool": np.bool_}[kind]
        array: Any = np.frombuffer(memory[where[0] : where[0] + where[1]], dtype)
        return lambda start, stop: array[start:stop].tolist()
    (data_at, data_len), (ends_at, ends_len), narrow = where
    data = memory[data_at : data_at + data_len]
    ends: Any = np.frombuffer(memory[ends_at : ends_at + ends_len], np.uint32 if narrow else np.int64)

    def ascii_texts(start: int, stop: int) -> list[str]:
        cuts = ends[start : stop + 1].tolist()
        text = str(data[cuts[0] : cuts[-1]], "ascii")
        base = cuts[0]
        return [text[a - base : b - base] for a, b in pairwise(cuts)]

    makers: dict[str, Callable[[Any], Any]] = {
        "str": lambda view: str(view, "utf-8", "surrogatepass"),
        "bytes": bytes,
        "any": marshal.loads,
    }
    make = makers.get(kind, bytes)

    def entries(start: int, stop: int) -> list[Any]:
        cuts = ends[start : stop + 1].tolist()
        return [make(data[a:b]) for a, b in pairwise(cuts)]

    return ascii_texts if kind == "ascii" else entries


class SharedList(Sequence[Any]):
    """A read-only list whose entries are in shared memory: replaces a long list in workers.

    Indexing, slices (plain lists), iteration, ``len``, ``in``, ``==`` and ``+`` work as for a list. It pickles as a list.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, length: int, read: Callable[[int, int], list[Any]]) -> None:
        self._length = length
        self._read = read

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            if step == 1:
                return self._read(start, stop) if start < stop else []
            return [self._read(i, i + 1)[0] for i in range(start, stop, step)]
        i = operator.index(index)
        if i < 0:
            i += self._length
        if not 0 <= i < self._length:
            raise IndexError("list index out of range")
        return self._read(i, i + 1)[0]

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, self._length, 1024):
            yield from self._read(start, min(start + 1024, self._length))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list | SharedList):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __add__(self, other: Any) -> list[Any]:
        return list(self) + list(other)

    def __radd__(self, other: Any) -> list[Any]:
        return list(other) + list(self)

    def __mul__(self, times: int) -> list[Any]:
        return list(self) * times

    def copy(self) -> list[Any]:
        """A plain list of this process."""
        return list(self)

    def __reduce__(self) -> Any:
        return list, (list(self),)

    def __repr__(self) -> str:
        return f"SharedList of {self._length} entries, first {self[:3]}"

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "this list is shared by all workers and cannot be changed in one of them: change a copy (list(...)), "
            "or switch the sharing off with DataLoader(..., share_lists=False) or Pool(..., share=False)"
        )

    append = extend = insert = pop = remove = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
