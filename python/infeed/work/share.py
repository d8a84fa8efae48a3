"""Long lists, packed: updating the reference counts of entries copies their pages, which makes forked workers grow.

The values are kept as bytes in memory that all workers map; a :class:`~infeed.work.SharedList` creates entries on access.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .lists import SharedList
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


def unpack(packed: Packed, memory: memoryview, empty: SharedList | None = None) -> SharedList:
    """A packed list, over the same bytes in any process; ``empty`` is one that was made before the fork."""
    return (SharedList(packed[1]) if empty is None else empty).attach(_reader(packed, memory))


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
