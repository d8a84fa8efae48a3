"""The engine's memory as NumPy arrays, and memory sizes as users write them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def as_numpy(array: _core.Array) -> Any:
    """An array of the engine as NumPy's, without a copy."""
    out = np.asarray(array)
    return out.view(bfloat16()) if array.dtype == "bf16" else out


def bfloat16() -> Any:
    """The bfloat16 dtype, which NumPy itself does not have."""
    try:
        import ml_dtypes
    except ImportError:
        raise ImportError('NumPy has no bfloat16 of its own: install "ml_dtypes", or use to_torch()') from None
    return ml_dtypes.bfloat16


def in_bytes(memory: int | str | None, what: str = "memory") -> int | None:
    """A size such as ``"2GB"``, in bytes."""
    if not isinstance(memory, str):
        return memory
    text = memory.strip().upper()
    number = text.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ ")
    unit = text[len(number) :].strip()
    try:
        return int(float(number) * _UNITS[unit])
    except (ValueError, KeyError):
        raise ValueError(f'{what} must be a number of bytes or text like "2GB", got {memory!r}') from None
