"""Conversion of user arguments into the values of a recipe."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core


def short(recipe: dict[str, Any]) -> str:
    """A recipe on one line."""
    source = recipe["source"]
    stages = [s["name"] if s["op"] in ("map", "map_batch") else s["op"] for s in recipe["stage"]]
    if "join" in source:
        parts = ", ".join(short(part) for part in source["part"])
        return " -> ".join([f"infeed.{source['join']['op']}([{parts}])", *stages])
    # The signature of a URL is in the recipe, and not for everybody who sees a log.
    return " -> ".join([_core.shown(f"infeed.open({source['paths']})"), *stages])


def integers(array: npt.NDArray[Any]) -> list[int] | dict[str, str]:
    """Integers for a recipe: long lists are packed."""
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"expected whole numbers, got {array.dtype}")
    if array.size <= 1000:
        return [int(x) for x in array]
    return {"i64": base64.b64encode(array.astype("<i8").tobytes()).decode()}


def reals(numbers: Sequence[float]) -> list[float] | dict[str, str]:
    """Numbers for a recipe: always packed, because JSON has neither NaN nor infinity."""
    array = np.asarray(numbers, dtype="<f8")
    if array.ndim != 1:
        raise ValueError(f"expected a flat list of numbers, got an array of shape {array.shape}")
    return {"f64": base64.b64encode(array.tobytes()).decode()}


def names(on: str | Iterable[str] | None) -> tuple[str, ...]:
    """Fields as users name them: one, several or none."""
    return () if on is None else (on,) if isinstance(on, str) else tuple(on)


def is_wrapped(given: Any) -> bool:
    """Whether the samples of a source are made in Python: the engine has only row numbers."""
    return hasattr(given, "object")


def whole(what: str, value: int) -> int:
    """A non-negative integer, from any integer type."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} must be a whole number, got {value!r}")
    number = value.__index__()
    if number < 0:
        raise ValueError(f"{what} must not be negative, got {number}")
    return number
