"""Columns and values of a batch in a few words: type, shape, range, a text cut short. Never an error, never much work."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..pipeline.sights import Sight
from .values import dtype_name, is_array, shape_of, thinned

if TYPE_CHECKING:
    from ..batch import Batch

#: Ranges of larger arrays come from so many of their elements.
_ELEMENTS = 1 << 16
#: So many entries of a list are looked at.
_ENTRIES = 64
_TEXT = 60
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _TEXT


class Words(NamedTuple):
    """A column in words."""

    type: str
    shape: str
    about: str


def column(value: Any, kind: str = "") -> Words:
    """A column of a batch. ``kind`` is that of its field, where a plan knows it."""
    try:
        return _encoded(value) if kind == "bytes" else _column(value)
    except Exception as error:  # a look must not fail, whatever a function of the user put into a batch
        return Words(type(value).__name__, "", f"({type(error).__name__} when it was looked at)")


def lines(title: str, fields: Mapping[str, Any], sights: Mapping[str, Sight] | None = None) -> str:
    """A title, and one line per field."""
    kinds = {name: sight.kind for name, sight in (sights or {}).items()}
    rows = [(cut(str(name), 40), *column(value, kinds.get(name, ""))) for name, value in fields.items()]
    wide = [max((len(row[at]) for row in rows), default=0) for at in range(3)]
    told = ("  ".join([*(row[at].ljust(wide[at]) for at in range(3)), row[3]]).rstrip() for row in rows)
    return "\n".join([title, *(f"  {line}" for line in told)])


def batch_lines(batch: Batch) -> str:
    """How many samples a batch has, and one line per field."""
    from .samples import count_of

    try:
        title = f"Batch of {count_of(batch)}"
    except Exception:  # as above
        title = "Batch"
    return lines(title, batch, batch._sights)


def cut(text: str, most: int) -> str:
    """A text of at most ``most`` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def short(value: Any) -> str:
    """Any object in a few characters."""
    try:
        return cut(_SHORT.repr(value), 200)
    except Exception:
        return f"<{type(value).__name__}>"


def shape_words(shape: Sequence[int | None]) -> str:
    """A shape as a list, with ``?`` where it varies."""
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def range_of(value: Any) -> str:
    """The smallest and the largest number of an array: ``0..255``, with ``~`` in front if not all were looked at."""
    if 0 in shape_of(value):
        return "empty"
    some, whole = thinned(value, _ELEMENTS)
    if some.dtype.kind in "US":
        return quoted(str(some.reshape(-1)[0]))
    if some.dtype == object or some.dtype.kind in "cMm" or some.size == 0:
        return ""
    if some.dtype.kind not in "biuf":
        some = some.astype(np.float32)  # bfloat16
    broken = some.dtype.kind == "f" and not bool(np.isfinite(some).all())
    finite = some[np.isfinite(some)] if broken else some
    if finite.size == 0:
        return "not finite"
    found = span(finite.min(), finite.max())
    return ("" if whole else "~") + found + (" and others that are not finite" if broken else "")


def span(low: Any, high: Any) -> str:
    """Two numbers as a range, or one number."""
    first, last = number(low), number(high)
    return first if first == last else f"{first}..{last}"


def number(value: Any) -> str:
    """A number with at most four digits behind the point."""
    value = value.item() if hasattr(value, "item") else value
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def quoted(text: str) -> str:
    """The beginning of a text, in quotes."""
    return repr(text[:_TEXT]) + ("…" if len(text) > _TEXT else "")


def _column(value: Any) -> Words:
    if is_array(value):
        return Words(dtype_name(value), shape_words(shape_of(value)), range_of(value))
    if isinstance(value, str):
        return Words("text", "", quoted(value))
    if isinstance(value, bytes):
        return Words("bytes", "", f"{len(value):,} bytes")
    if isinstance(value, bool | int | float):
        return Words(type(value).__name__, "", number(value))
    if isinstance(value, list | tuple):
        return _list(value)
    if isinstance(value, Mapping):
        return Words("dict", str(len(value)), cut(", ".join(map(str, list(value)[:16])), _TEXT))
    return Words(type(value).__name__, "", cut(short(value), _TEXT))


def _encoded(value: Any) -> Words:
    """Bytes that nothing decoded. The engine gives them as arrays."""
    if is_array(value) and len(shape_of(value)) == 1:
        return Words("bytes", "", f"{shape_of(value)[0]:,} bytes")
    if not isinstance(value, list):
        return _column(value)
    seen = [item for item in value[:_ENTRIES] if item is not None]
    if not seen or not all(is_array(item) for item in seen):
        return _list(value)
    return _byte_sizes(value, [shape_of(item)[0] for item in seen])


def _byte_sizes(items: Sequence[Any], sizes: Sequence[int]) -> Words:
    return Words("bytes", str(len(items)), f"{span(min(sizes), max(sizes))} bytes each{_without(items)}")


def _without(items: Sequence[Any]) -> str:
    """How many entries have no value, of those that are looked at."""
    lost = sum(item is None for item in items[:_ENTRIES])
    return f", {lost} without a value" if lost else ""


def _list(items: Sequence[Any]) -> Words:
    count = str(len(items))
    seen = [item for item in items[:_ENTRIES] if item is not None]
    without = _without(items)
    if not seen:
        return Words("list", count, "empty" if not items else "no values")
    if all(isinstance(item, str) for item in seen):
        return Words("text", count, quoted(seen[0]) + without)
    if all(isinstance(item, bytes) for item in seen):
        return _byte_sizes(items, [len(item) for item in seen])
    if all(is_array(item) for item in seen):
        types = dict.fromkeys(dtype_name(item) for item in seen)
        return Words("list of " + "/".join(types), f"{count} x {_common(seen)}", _ranges(seen) + without)
    kinds = dict.fromkeys(type(item).__name__ for item in seen)
    return Words("list of " + cut("/".join(kinds), 40), count, cut(short(seen[0]), _TEXT) + without)


def _common(arrays: Sequence[Any]) -> str:
    shapes = [shape_of(array) for array in arrays]
    if len({len(shape) for shape in shapes}) > 1:
        return "[...]"
    axes = zip(*shapes, strict=True)
    return shape_words([sizes[0] if len(set(sizes)) == 1 else None for sizes in axes])


def _ranges(arrays: Iterable[Any]) -> str:
    """The range of a list of arrays."""
    parts: list[npt.NDArray[Any]] = []
    whole = True
    for array in arrays:
        if 0 not in shape_of(array):
            some, all_of_it = thinned(array, _ELEMENTS // _ENTRIES)
            whole &= all_of_it
            parts.append(some.reshape(-1).astype(np.float64) if some.dtype.kind not in "biu" else some.reshape(-1))
    if not parts:
        return "empty"
    found = range_of(np.concatenate(parts))
    return found if whole or not found else "~" + found.removeprefix("~")
