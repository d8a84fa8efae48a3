"""Streams of rows from Python iterators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..pipeline import Pipeline


def stream(rows: Callable[[], Iterable[Mapping[str, Any]]] | Iterable[Mapping[str, Any]]) -> Pipeline:
    """Read rows from Python, one after the other: dicts of bytes, text, numbers and arrays.

    ``rows`` is a function that makes an iterator (a generator function), or an iterable that can be iterated repeatedly,
    such as a list. It is iterated once per epoch and must give the same rows each time. Rows cannot be addressed:
    shuffling uses a buffer, every rank reads all rows and keeps its share, and resuming skips the rows that were
    already given.
    """
    name = getattr(rows, "__qualname__", type(rows).__qualname__)
    return Pipeline({"source": {"paths": [name], "format": "python"}, "stage": []}, {name: Rows(rows)})


class Rows:
    """Makes an iterator for every epoch, with each row split into fields for the engine."""

    def __init__(self, rows: Any, words: str = "") -> None:
        if not callable(rows) and not hasattr(rows, "__iter__"):
            raise TypeError(f"stream takes a function that makes an iterator, or an iterable, got {rows!r}")
        self.rows = rows
        self.words = words
        self.used = False

    @property
    def given(self) -> Rows:
        """What the engine gets: the function that makes iterators."""
        return self

    def __call__(self) -> Iterator[list[tuple[str, str, tuple[int, ...], Any]]]:
        """The rows of one epoch."""
        made = self.rows() if callable(self.rows) else self.rows
        if made is iter(made) and made is self.rows:
            if self.used:
                raise ValueError("a generator can be iterated only once: give the function that makes it")
            self.used = True
        return (_parts(row) for row in made)


def _parts(row: Mapping[str, Any]) -> list[tuple[str, str, tuple[int, ...], Any]]:
    if not isinstance(row, Mapping):
        raise TypeError(f"a stream gives dicts, got {type(row).__name__}")
    out: list[tuple[str, str, tuple[int, ...], Any]] = []
    for name, value in row.items():
        if isinstance(value, bytes | bytearray | memoryview):
            out.append((name, "bytes", (), bytes(value)))
        elif isinstance(value, str):
            out.append((name, "text", (), value))
        else:
            array = np.ascontiguousarray(value)
            if array.dtype.name not in _KINDS:
                raise TypeError(
                    f"the field {name!r} of a stream is {type(value).__name__} ({array.dtype}); a stream takes bytes,"
                    " text, numbers and arrays: leave the field out, or give it as text, json.dumps(value)"
                )
            out.append((name, _KINDS[array.dtype.name], np.shape(value), array.tobytes()))
    return out


_KINDS = {"bool": "bool", "float16": "f16", "float32": "f32", "float64": "f64"}
_KINDS |= {f"{sign}int{bits}": f"{'u' if sign else 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
