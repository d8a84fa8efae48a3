"""Values of any library as NumPy arrays, a few elements at a time."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt


def is_array(value: Any) -> bool:
    """Whether this is an array or a tensor of NumPy, torch, JAX or the like."""
    if isinstance(value, np.ndarray | np.generic):
        return True
    try:
        return isinstance(value.shape, tuple) and value.dtype is not None
    except Exception:  # whatever the attributes of a user's object do
        return False


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of an array or tensor."""
    return tuple(int(size) for size in value.shape)


def dtype_name(value: Any) -> str:
    """The element type as NumPy writes it: ``uint8``, ``float32``."""
    return str(value.dtype).removeprefix("torch.")


def thinned(value: Any, most: int) -> tuple[npt.NDArray[Any], bool]:
    """At most ``most`` elements, spread over the array, and whether they are all of them. No others are copied."""
    sizes = list(shape_of(value))
    steps = [1] * len(sizes)
    while sizes and np.prod([-(-size // step) for size, step in zip(sizes, steps, strict=True)], dtype=float) > most:
        widest = max(range(len(sizes)), key=lambda axis: sizes[axis] // steps[axis])
        steps[widest] *= 2
    whole = all(step == 1 for step in steps)
    return as_array(value if whole else value[tuple(slice(None, None, step) for step in steps)]), whole


def as_array(value: Any) -> npt.NDArray[Any]:
    """An array or tensor, on whichever device it is, as NumPy's."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        return np.asarray(value.float() if value.dtype == torch.bfloat16 else value)
    return np.asarray(value)


def numbers(value: Any) -> npt.NDArray[Any] | None:
    """Boxes, points and the like as float64; None for what is not numbers."""
    try:
        array = as_array(value)
        return array.astype(np.float64) if array.dtype != object and array.dtype.kind not in "USOMmc" else None
    except (TypeError, ValueError, RuntimeError):
        return None
