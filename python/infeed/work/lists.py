"""Lists of workers whose entries are in shared memory until the worker changes the list."""

from __future__ import annotations

import copy
import functools
import operator
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any


class EntryInSharedMemory:
    """Stands in the memory of a :class:`SharedList` for each of its entries.

    Compiled code that reads the memory of a list directly finds the right length, and fails on these instead of using
    wrong values.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "<an entry of a shared list: use list(...) for code that reads the memory of lists>"


_ELSEWHERE = EntryInSharedMemory()
_owning = threading.Lock()


def _writes(name: str) -> Any:
    """A method of ``list`` that changes the list: gives it its own entries first."""
    method: Any = getattr(list, name)

    @functools.wraps(method)
    def write(self: SharedList, *args: Any, **options: Any) -> Any:
        self._own()
        return method(self, *args, **options)

    return write


def _reads(name: str) -> Any:
    """A method of ``list`` that needs all entries: uses a copy that is dropped again."""
    method: Any = getattr(list, name)

    @functools.wraps(method)
    def read(self: SharedList, *args: Any, **options: Any) -> Any:
        return method(self._all(), *args, **options)

    return read


class _PicklesAsList(list[Any]):
    def __reduce_ex__(self, _: Any) -> Any:
        return list, (list(self),)

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        out: list[Any] = []
        memo[id(self)] = out
        out.extend(copy.deepcopy(value, memo) for value in self)
        return out


class OwnedList(_PicklesAsList):
    """What a :class:`SharedList` becomes when it is written to: a list of this process."""


class SharedList(_PicklesAsList):
    """A list whose entries are in shared memory: replaces a long list in workers.

    It does all that a list does. Entries are created when they are read. The first change gives the process its own
    entries. It pickles and copies as a plain list.
    """

    _read: Callable[[int, int], list[Any]]

    def __init__(self, length: int) -> None:
        super().__init__((_ELSEWHERE,))
        list.__imul__(self, length)

    def attach(self, read: Callable[[int, int], list[Any]]) -> SharedList:
        """Give it the function that creates the entries from ``start`` to ``stop``."""
        self._read = read
        return self

    def _all(self) -> list[Any]:
        return self._read(0, len(self)) if len(self) else []

    def _own(self) -> None:
        """Take the entries into this process, for good."""
        with _owning:
            if type(self) is SharedList:
                list.__init__(self, self._all())
                self.__class__ = OwnedList  # type: ignore[assignment]
                del self._read

    def __getitem__(self, index: Any) -> Any:
        length = len(self)
        if isinstance(index, slice):
            start, stop, step = index.indices(length)
            if step == 1:
                return self._read(start, stop) if start < stop else []
            return [self._read(i, i + 1)[0] for i in range(start, stop, step)]
        try:
            i = operator.index(index)
        except TypeError:
            raise TypeError(f"list indices must be integers or slices, not {type(index).__name__}") from None
        if i < 0:
            i += length
        if not 0 <= i < length:
            raise IndexError("list index out of range")
        return self._read(i, i + 1)[0]

    def __iter__(self) -> Iterator[Any]:
        at = 0
        # As for any list, changes during the iteration are seen.
        while type(self) is SharedList and at < len(self):
            for value in self._read(at, min(at + 1024, len(self))):
                yield value
                at += 1
                if type(self) is not SharedList:
                    break
        while at < len(self):
            yield self[at]
            at += 1

    def __reversed__(self) -> Iterator[Any]:
        at = len(self) - 1
        while at >= 0:
            if at < len(self):
                yield self[at]
            at -= 1

    def __contains__(self, value: object) -> bool:
        return any(entry is value or entry == value for entry in self)

    def index(self, value: Any, start: Any = 0, stop: Any = sys.maxsize, /) -> int:
        """The first index of a value."""
        first, last, _ = slice(start, stop).indices(len(self))
        for i in range(first, last, 1024):
            chunk = self._read(i, min(i + 1024, last))
            if value in chunk:
                return i + chunk.index(value)
        raise ValueError(f"{value!r} is not in list")

    def count(self, value: Any, /) -> int:
        """How often a value occurs."""
        return sum(entry is value or entry == value for entry in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list):
            return NotImplemented
        return len(self) == len(other) and all(a is b or a == b for a, b in zip(self, other, strict=True))

    def __ne__(self, other: object) -> bool:
        return NotImplemented if not isinstance(other, list) else not self == other

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Any) -> bool:
        return list.__lt__(self._all(), _plain(other))

    def __le__(self, other: Any) -> bool:
        return list.__le__(self._all(), _plain(other))

    def __gt__(self, other: Any) -> bool:
        return list.__gt__(self._all(), _plain(other))

    def __ge__(self, other: Any) -> bool:
        return list.__ge__(self._all(), _plain(other))

    def __add__(self, other: Any) -> Any:
        return self._all() + _plain(other)

    def __radd__(self, other: Any) -> Any:
        # Only lists: this is also asked for a tuple or an array on the left, which add in their own ways.
        return other + self._all() if isinstance(other, list) else NotImplemented

    def copy(self) -> list[Any]:
        """A plain list of this process."""
        return self._all()

    __repr__ = _reads("__repr__")
    __mul__ = _reads("__mul__")
    __rmul__ = _reads("__rmul__")

    append = _writes("append")
    extend = _writes("extend")
    insert = _writes("insert")
    pop = _writes("pop")
    remove = _writes("remove")
    clear = _writes("clear")
    sort = _writes("sort")
    reverse = _writes("reverse")
    __setitem__ = _writes("__setitem__")
    __delitem__ = _writes("__delitem__")
    __iadd__ = _writes("__iadd__")
    __imul__ = _writes("__imul__")


def _plain(value: Any) -> Any:
    return value._all() if type(value) is SharedList else value
