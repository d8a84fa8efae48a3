"""Images as the bytes of a file, encoded by Pillow."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt

from .common import as_array, refuse_path

#: Extensions of images and Pillow's names of their formats.
FORMATS = {
    **dict.fromkeys(("jpg", "jpeg", "jpe", "jfif", "img", "image"), "JPEG"),
    "png": "PNG",
    "webp": "WEBP",
    "bmp": "BMP",
    **dict.fromkeys(("tif", "tiff"), "TIFF"),
    **dict.fromkeys(("ppm", "pgm", "pbm", "pnm"), "PPM"),
}
#: The modes of Pillow that an extension of a portable map stands for; Pillow itself writes any of them.
_MAPS = {"ppm": ("RGB",), "pgm": ("L",), "pbm": ("1",)}


def encode_image(field: str, kind: str, value: Any, quality: int) -> bytes:
    """An image of Pillow, an array of height x width (x channels), or a tensor of channels x height x width.

    Numbers are u8, or floating point from 0 to 1, as in WebDataset. What is lossless is written losslessly.
    """
    refuse_path(field, value)
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(
            f"field {field!r}: images are encoded by Pillow: pip install pillow, or give the bytes of a file"
        ) from None
    image = value if isinstance(value, Image.Image) else Image.fromarray(_pixels(field, value))
    format = FORMATS[kind]
    if kind in _MAPS and image.mode not in _MAPS[kind]:
        wanted = _MAPS[kind][0]
        raise ValueError(
            f"field {field!r}: .{kind} holds images of mode {wanted}, got {image.mode}; convert({wanted!r})"
        )
    options: dict[str, dict[str, Any]] = {"JPEG": {"quality": quality}, "WEBP": {"lossless": True}}
    out = io.BytesIO()
    try:
        image.save(out, format=format, **options.get(format, {}))
    except (OSError, KeyError, ValueError) as error:
        raise ValueError(
            f"field {field!r}: an image of mode {image.mode} cannot be written as {format} ({error}); convert it with"
            ' convert("RGB"), or use the extension png'
        ) from error
    return out.getvalue()


def _pixels(field: str, value: Any) -> npt.NDArray[Any]:
    tensor = hasattr(value, "detach")
    if not tensor and not isinstance(value, np.ndarray):
        raise TypeError(
            f"field {field!r}: an image of Pillow, an array or a tensor is expected, got {type(value).__name__}; bytes"
            " are written as they are"
        )
    array = as_array(field, value)
    if tensor and array.ndim == 3 and array.shape[0] in (1, 3, 4):
        # torch's images have the channels first.
        array = np.moveaxis(array, 0, -1)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if 0 in array.shape or array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (3, 4)):
        order = "channels x height x width" if tensor else "height x width x channels"
        cure = (
            "; np.moveaxis(image, 0, -1) puts channels last"
            if array.ndim == 3 and array.shape[0] in (1, 3, 4)
            else ""
        )
        raise ValueError(f"field {field!r}: an image is {order} or height x width, got {array.shape}{cure}")
    return np.ascontiguousarray(_levels(field, array))


def _levels(field: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Values that an image can hold: u8, bool, u16 for gray. Fractions become u8 as in WebDataset: rounded down."""
    if array.dtype in (np.uint8, np.bool_) or (array.dtype == np.uint16 and array.ndim == 2):
        return array
    if array.dtype.kind != "f":
        raise TypeError(
            f"field {field!r}: pixels are u8, got {array.dtype}; use astype(np.uint8) if they are 0 to 255"
        )
    low, high = float(array.min()), float(array.max())
    if not (low > -0.001 and high < 1.001):
        raise ValueError(
            f"field {field!r}: pixels of type {array.dtype} go from 0 to 1, and these from {low:g} to {high:g}; use"
            " astype(np.uint8) if they are 0 to 255, or the extension npy for values that are no pixels"
        )
    wide = array.astype(np.float32) if array.dtype == np.float16 else array
    return np.asarray(np.clip(wide, 0.0, 1.0) * 255.0, dtype=np.uint8)
