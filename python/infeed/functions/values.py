"""The values of samples, whatever structure a sample has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def each_value(sample: Any, change: Callable[[Any], Any]) -> Any:
    """Apply a function to the values of a sample: those of a dict, the items of a tuple, or the one value that it is."""
    if isinstance(sample, Mapping):
        return {name: change(value) for name, value in sample.items()}
    if isinstance(sample, list | tuple):
        made = [change(value) for value in sample]
        return type(sample)(*made) if hasattr(sample, "_fields") else type(sample)(made)
    return change(sample)
