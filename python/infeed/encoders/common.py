"""What all encoders of fields share."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt


def as_array(field: str, value: Any) -> npt.NDArray[Any]:
    """An array or tensor, from any device, as NumPy's."""
    if not hasattr(value, "detach"):
        return np.asarray(value)
    try:
        out: npt.NDArray[Any] = value.detach().cpu().numpy()
    except TypeError:
        raise TypeError(
            f"field {field!r}: NumPy has no {value.dtype}; convert it first, for example with .float()"
        ) from None
    return out


def stored_bytes(field: str, value: Any) -> bytes | None:
    """The bytes of a field that nothing decoded: loaders give it as an array or a tensor of u8 with one axis."""
    if getattr(value, "ndim", None) != 1 or "uint8" not in str(getattr(value, "dtype", "")):
        return None
    return as_array(field, value).tobytes()


def refuse_path(field: str, value: Any) -> None:
    """Raise for text where data belongs: it is mostly the path of a file."""
    if isinstance(value, str | os.PathLike):
        raise TypeError(
            f"field {field!r}: got text, {os.fspath(value)!r}; if it is a path, give the bytes of the file:"
            " pathlib.Path(path).read_bytes()"
        )
