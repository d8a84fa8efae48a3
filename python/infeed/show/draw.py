"""Draws what lies in an image on its picture: masks, boxes, points."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
import numpy.typing as npt

from ..pipeline.sights import Sight
from .pixels import Picture, fitted, nearest
from .values import as_array, is_array, numbers, shape_of

#: How much of a mask's colour covers the image.
_COVER = 0.55
_GREY = (160, 160, 160)
#: Classes that mean "leave out": 255 in masks of u8, and everything below zero.
_IGNORED = 255
#: So many things of one image are drawn, so that a page stays small and comes soon.
_MOST = 200


def colour(number: int) -> tuple[int, int, int]:
    """A colour for the number of a class or of a thing. Neighbours differ much."""
    hue = number * 0.618034 % 1
    light = 1.0 if number % 2 == 0 else 0.85
    red, green, blue = colorsys.hsv_to_rgb(hue, 0.85 if number % 3 else 0.7, light)
    return round(red * 255), round(green * 255), round(blue * 255)


def draw(on: Picture, sight: Sight, value: Any, *, cover: float = _COVER) -> None:
    """Draw one target. What has not the shape of its kind is left out. Masks hide the share ``cover`` of the image."""
    if value is None or not is_array(value):
        return
    if sight.kind == "mask":
        _classes(on, value, cover)
    elif sight.kind == "masks":
        _things(on, value, cover)
    elif sight.kind == "boxes":
        _boxes(on, sight, value)
    elif sight.kind == "keypoints":
        _points(on, sight, value)


def mask_picture(kind: str, value: Any, most: int) -> Picture | None:
    """A mask, or masks, alone: in colours on black."""
    if not is_array(value):
        return None
    shape = shape_of(value)
    shape = shape[1:] if kind == "masks" else shape[1:] if len(shape) == 3 and shape[0] == 1 else shape[:2]
    if len(shape) != 2 or 0 in shape:
        return None
    out = Picture(np.zeros((*fitted(*shape, most), 3), np.uint8), *shape)
    draw(out, Sight(kind), value, cover=1)
    return out


def _sampled(on: Picture, array: Any) -> npt.NDArray[Any]:
    """A mask in the size of the picture, whatever size it has."""
    height, width = shape_of(array)[-2:]
    rows, columns = nearest(height, on.pixels.shape[0]), nearest(width, on.pixels.shape[1])
    return as_array(array)[..., rows, :][..., columns]


def _paint(on: Picture, where: npt.NDArray[Any], tint: tuple[int, int, int], cover: float) -> None:
    kept = on.pixels[where] * (1 - cover)
    on.pixels[where] = np.rint(kept + np.array(tint) * cover).astype(np.uint8)


def _classes(on: Picture, value: Any, cover: float) -> None:
    shape = shape_of(value)
    if len(shape) == 3 and 1 in (shape[0], shape[-1]):
        value = value[0] if shape[0] == 1 else value[..., 0]
    if len(shape_of(value)) != 2 or 0 in shape_of(value):
        return
    small = _sampled(on, value)
    for found in np.unique(small)[:_MOST].tolist():
        if found == 0 or found != found:
            continue
        ignored = found < 0 or (found == _IGNORED and small.dtype == np.uint8)
        _paint(on, small == found, _GREY if ignored else colour(int(found) - 1), cover)


def _things(on: Picture, value: Any, cover: float) -> None:
    shape = shape_of(value)
    if len(shape) != 3 or 0 in shape:
        return
    for number, one in enumerate(_sampled(on, value[:_MOST])):
        _paint(on, one > 0, colour(number), cover)


def corners(sight: Sight, value: Any, height: int, width: int) -> npt.NDArray[Any]:
    """Boxes as x1, y1, x2, y2 in pixels of the image; none if these are no boxes."""
    found = numbers(value)
    if found is None or found.shape[-1:] != (4,) or found.ndim > 2:
        return np.zeros((0, 4))
    found = found.reshape(-1, 4)[:_MOST]
    found = found[np.isfinite(found).all(axis=1)]
    form, relative = sight.form, sight.relative
    if relative is None:
        # Nothing says what the numbers are. Shares of the image are as YOLO has them: the middle and the size.
        relative = bool(found.size) and float(found.max()) <= 1 and max(height, width) > 1
        form = "cxcywh" if relative else form
    if relative:
        found = found * [width, height, width, height]
    if form == "xywh":
        found[:, 2:] += found[:, :2]
    elif form == "cxcywh":
        middle, half = found[:, :2].copy(), found[:, 2:] / 2
        found = np.concatenate([middle - half, middle + half], axis=1)
    return found


def _boxes(on: Picture, sight: Sight, value: Any) -> None:
    high, wide = on.pixels.shape[:2]
    scale = np.array([wide / on.width, high / on.height] * 2)
    thick = 1 if max(high, wide) <= 160 else 2
    for number, (x1, y1, x2, y2) in enumerate(corners(sight, value, on.height, on.width) * scale):
        if x2 <= x1 or y2 <= y1 or x1 >= wide or y1 >= high or x2 <= 0 or y2 <= 0:
            continue  # padding, or outside
        left, top = max(0, int(x1)), max(0, int(y1))
        # The far corner of a box lies at the end of its last pixel.
        right, bottom = min(wide, int(np.ceil(x2))), min(high, int(np.ceil(y2)))
        inside = on.pixels[top:bottom, left:right]
        for edge in (inside[:thick], inside[-thick:], inside[:, :thick], inside[:, -thick:]):
            edge[...] = colour(number)


def _points(on: Picture, sight: Sight, value: Any) -> None:
    found = numbers(value)
    if found is None or found.ndim not in (2, 3) or found.shape[-1] not in (2, 3):
        return
    things = found.reshape(-1, *found.shape[-2:])[:_MOST] if found.size else found[:0].reshape(0, 1, 2)
    relative = sight.relative
    if relative is None:
        relative = bool(things.size) and float(things[..., :2].max()) <= 1 and max(on.height, on.width) > 1
    high, wide = on.pixels.shape[:2]
    scale = (wide, high) if relative else (wide / on.width, high / on.height)
    reach = 1 if max(high, wide) <= 160 else 2
    for number, thing in enumerate(things):
        for point in thing[:_MOST]:
            x, y = point[0] * scale[0], point[1] * scale[1]
            hidden = len(point) == 3 and point[2] <= 0
            if hidden or not (0 <= x < wide and 0 <= y < high):
                continue
            at = (
                slice(max(0, int(y) - reach), int(y) + reach + 1),
                slice(max(0, int(x) - reach), int(x) + reach + 1),
            )
            on.pixels[at] = colour(number)
