"""Images of any layout and element type as small pictures to look at."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from .values import as_array, is_array, shape_of

Pixels = npt.NDArray[Any]
#: More channels than this are no image.
_MOST_CHANNELS = 16
#: Images are first cut down to so many pixels per pixel of the picture, in each direction, and then averaged.
_FINER = 4


@dataclasses.dataclass(slots=True)
class Picture:
    """A picture, u8 height x width x 3, and the size of the image that it shows."""

    pixels: Pixels
    height: int
    width: int


def picture(value: Any, most: int) -> Picture | None:
    """An image as a picture with sides of at most ``most`` pixels; None if it is no image.

    Images are height x width, with channels first or last. Small ones are magnified by a whole number. Floats
    between 0 and 1 are shares of white; what is below 0 or above 255, as after ``Normalize``, is stretched to its range.
    """
    if not is_array(value):
        return None
    shape = shape_of(value)
    layout = _layout(shape)
    if layout is None or 0 in shape:
        return None
    height, width = shape[layout], shape[layout + 1]
    step = max(1, max(height, width) // (most * _FINER))
    spatial = (slice(None, None, step), slice(None, None, step))
    image = as_array(value[(*(slice(None),) * layout, *spatial)])
    if image.dtype == object or image.dtype.kind in "USMmc":
        return None
    if image.ndim == 2:
        image = image[..., None]
    elif layout == 1:
        image = np.moveaxis(image, 0, -1)
    return Picture(_fit(_colours(image), fitted(height, width, most)), height, width)


def fitted(height: int, width: int, most: int) -> tuple[int, int]:
    """The size of the picture of an image: its longer side is at most ``most``."""
    longer = max(height, width)
    if longer <= most:
        times = max(1, most // longer)
        return height * times, width * times
    return max(1, round(height * most / longer)), max(1, round(width * most / longer))


def nearest(size: int, out: int) -> npt.NDArray[np.int64]:
    """For each of ``out`` pixels the one of ``size`` pixels that it shows."""
    return ((2 * np.arange(out) + 1) * size // (2 * out)).astype(np.int64)


def _layout(shape: tuple[int, ...]) -> int | None:
    """The axis that is the height, if this is the shape of an image."""
    if len(shape) == 2:
        return 0
    if len(shape) != 3:
        return None
    first, last = shape[0], shape[-1]
    if last in (1, 3, 4):
        return 0
    if first in (1, 3, 4):
        return 1
    if min(first, last) > _MOST_CHANNELS:
        return None
    return 0 if last <= first else 1


def _colours(image: Pixels) -> Pixels:
    """Three channels of float32 between 0 and 255."""
    values = image.astype(np.float32)
    values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
    low, high = float(values.min()), float(values.max())
    if image.dtype == np.uint8:
        pass
    elif low >= 0 and high <= 1:
        values *= 255
    elif low < 0 or high > 255 or high < 16:
        values = (values - low) * (255 / (high - low)) if high > low else np.full_like(values, 128)
    channels = values.shape[-1]
    if channels == 4:
        alpha = values[..., 3:] / 255
        return np.asarray(values[..., :3] * alpha + 255 * (1 - alpha))
    return np.asarray(values[..., :3] if channels >= 3 else np.repeat(values[..., :1], 3, axis=-1))


def _fit(values: Pixels, size: tuple[int, int]) -> Pixels:
    """Averages pixels where there are more of them, and repeats them where there are fewer."""
    for axis, out in enumerate(size):
        have = values.shape[axis]
        if have > out:
            edges = np.arange(out) * have // out
            values = np.add.reduceat(values, edges, axis=axis)
            counts = np.diff(np.append(edges, have)).astype(np.float32)
            values = values / counts.reshape([-1 if a == axis else 1 for a in range(3)])
        elif have < out:
            values = np.take(values, nearest(have, out), axis=axis)
    return np.asarray(np.rint(values).clip(0, 255).astype(np.uint8))
