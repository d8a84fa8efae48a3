"""Numbers, text, JSON and arrays as bytes."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .common import as_array, refuse_path

_INTEGERS = ("cls", "cls2", "class", "count", "index", "inx", "id")
_TEXTS = ("txt", "text", "transcript", "html", "htm")


def _integer(field: str, value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    number = _scalar(value)
    if isinstance(number, float) or not hasattr(number, "__index__"):
        raise TypeError(
            f"field {field!r}: a whole number is expected, got {value!r}; use int(value), or another name"
        )
    return str(int(number)).encode()


def _text(field: str, value: Any) -> bytes:
    number = _scalar(value)
    if isinstance(value, str):
        return value.encode()
    if isinstance(number, int | float):
        return _number(number)
    raise TypeError(f"field {field!r}: text is expected, got {type(value).__name__}")


def _json(field: str, value: Any) -> bytes:
    if isinstance(value, str):
        # As with WebDataset, text is JSON already.
        try:
            json.loads(value)
        except ValueError:
            raise ValueError(
                f"field {field!r}: the text {value[:40]!r} is no JSON; use json.dumps(value), or the extension txt"
            ) from None
        return value.encode()
    try:
        return json.dumps(value, default=_plain, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise TypeError(f"field {field!r}: this cannot be written as JSON: {error}") from None


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # arrays, tensors, scalars of NumPy
        return value.tolist()
    raise TypeError(f"there is a {type(value).__name__} in it")


def _npy(field: str, value: Any) -> bytes:
    refuse_path(field, value)
    array = as_array(field, value)
    if array.dtype.hasobject:
        raise TypeError(f"field {field!r}: this is no array of numbers; use the extension json for other values")
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def _npz(field: str, value: Any) -> bytes:
    refuse_path(field, value)
    if not isinstance(value, Mapping):
        raise TypeError(
            f"field {field!r}: npz holds a dict of arrays, got {type(value).__name__}; npy holds one array"
        )
    arrays = {str(name): as_array(field, item) for name, item in value.items()}
    if any(array.dtype.hasobject for array in arrays.values()):
        raise TypeError(f"field {field!r}: npz holds arrays of numbers; use the extension json for other values")
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def _pth(field: str, value: Any) -> bytes:
    refuse_path(field, value)
    try:
        import torch
    except ImportError:
        raise ImportError(f"field {field!r}: .pth is written by PyTorch: pip install torch, or give bytes") from None
    out = io.BytesIO()
    torch.save(value, out)
    return out.getvalue()


def encode_other(field: str, value: Any) -> bytes:
    """Text and numbers, as text: for extensions that say nothing."""
    if isinstance(value, str):
        return value.encode()
    number = _scalar(value)
    if isinstance(number, bool | int | float):
        return _number(number)
    pil = sys.modules.get("PIL.Image")
    picture = pil is not None and isinstance(value, pil.Image)
    hint = (
        "an image needs the extension jpg or png" if picture else "arrays need the extension npy, other values json"
    )
    raise TypeError(f"field {field!r}: cannot write {type(value).__name__} under this extension; {hint}")


def _scalar(value: Any) -> Any:
    """A number of Python, from a scalar of NumPy or torch; anything else as it is."""
    if isinstance(value, np.generic) or (hasattr(value, "item") and getattr(value, "ndim", None) == 0):
        return value.item()
    return value


def _number(number: bool | int | float) -> bytes:
    # True and False as 1 and 0: no decoder reads the words.
    return str(int(number) if isinstance(number, bool) else number).encode()


#: Encoders by extension.
ENCODERS: dict[str, Callable[[str, Any], bytes]] = {
    **dict.fromkeys(_INTEGERS, _integer),
    **dict.fromkeys(_TEXTS, _text),
    "json": _json,
    "jsn": _json,
    "npy": _npy,
    "npz": _npz,
    "pth": _pth,
}
