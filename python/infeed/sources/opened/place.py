"""Where the data of an open object lies."""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Place:
    """A file or store, and what is read of it."""

    format: str
    path: str
    #: None for those that the format chooses.
    variables: list[str] | None
    #: Whether the object unpacks values; None where there is nothing to unpack.
    scale: bool | None = False


def together(places: Mapping[str, Place]) -> Place:
    """All arrays of one file, which must be read in one way."""
    scales = {place.scale for place in places.values()} - {None}
    first = next(iter(places.values()))
    for name, place in places.items():
        if (place.format, place.path) != (first.format, first.path):
            raise ValueError(
                f"{name!r} lies in {place.path!r}, and others in {first.path!r}: give arrays of one file"
            )
    if len(scales) > 1:
        told = ", ".join(f"{name} is {'' if place.scale else 'not '}unpacked" for name, place in places.items())
        raise ValueError(f"{told}: open all of them with the same mask_and_scale")
    variables = [variable for place in places.values() for variable in place.variables or ()]
    return replace(first, variables=variables or None, scale=scales.pop() if scales else None)


def held(path: str) -> str | None:
    """How this process has a file open: ``"r"``, ``"w"`` if anything may write to it, None if not at all."""
    try:
        own = os.stat(path)
        numbers = [int(name) for name in os.listdir("/dev/fd")]
    except (OSError, ValueError):
        return None
    found = None
    for number in numbers:
        try:
            other = os.fstat(number)
            if (other.st_dev, other.st_ino) != (own.st_dev, own.st_ino):
                continue
            flags = fcntl.fcntl(number, fcntl.F_GETFL)
        except OSError:
            continue  # The descriptor of the listing itself.
        if flags & os.O_ACCMODE != os.O_RDONLY:
            return "w"
        found = "r"
    return found


def chosen(shapes: Mapping[str, Sequence[Any]], axis: int, what: str) -> list[str]:
    """The arrays whose axis has the length, or the name, that most of them have."""
    lengths = {name: shape[axis] for name, shape in shapes.items() if -len(shape) <= axis < len(shape)}
    counts = Counter(lengths.values()).most_common()
    if not counts:
        raise ValueError(f"{what} has no arrays with an axis {axis}: there are no rows to read")
    if len(counts) > 1 and counts[0][1] == counts[1][1]:
        told = ", ".join(f"{name} ({length})" for name, length in lengths.items())
        raise ValueError(
            f"the arrays of {what} differ in their axis {axis}: {told}; say which to read with variables="
        )
    return [name for name, length in lengths.items() if length == counts[0][0]]


def writing(what: str, path: str, again: str) -> ValueError:
    """An error for files that may change."""
    return ValueError(
        f"{what} is open for writing, so that {path!r} may not have all of its data: close it, and open it with {again}"
    )


def gone(what: str, path: str, call: str) -> ValueError:
    """An error for objects that have no file."""
    return ValueError(
        f"{what} is not the data of a file that is open here ({path!r}): it is in memory, or the file was replaced. Write"
        f" it to a file and give its path, {call}, or read it into memory: infeed.arrays(x=data[...])"
    )
