"""Arguments of a format as a recipe holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Scalar = float | str | bool


def table_args(**given: Any) -> dict[str, Any]:
    """Arguments of a recipe: what has its default is left out."""
    out: dict[str, Any] = {}
    for name, value in given.items():
        if value is None or (name, value) in (("nulls", "auto"), ("read", "mmap")):
            continue
        name = name.rstrip("_")
        if name in ("columns", "key") and not isinstance(value, str):
            value = list(value)
        elif isinstance(value, Mapping):
            value = dict(value)
        out[name] = value
    return out
