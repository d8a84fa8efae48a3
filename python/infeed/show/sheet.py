"""Samples as one PNG: their images side by side, with what lies in them."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from .pictures import picture_of
from .png import png
from .samples import view_of

_GAP = 4
_MOST_SIDE = 1024


def grid(
    thing: Any,
    path: str | os.PathLike[str],
    *,
    rows: int = 16,
    side: int = 224,
    columns: int | None = None,
) -> None:
    """Write a PNG with the images of at most ``rows`` samples of a pipeline, a loader or a batch, or of one sample.

    Masks, boxes and keypoints are drawn on their image. Every image fits into a square of ``side`` pixels.
    """
    if rows < 1 or not 1 <= side <= _MOST_SIDE:
        raise ValueError(f"grid takes at least 1 row and a side of 1 to {_MOST_SIDE} pixels, got {rows} and {side}")
    view = view_of(thing, rows)
    fields = [name for name in view.names if view.sights[name].kind == "image"]
    # Masks without an image are worth a picture of their own.
    fields = fields or [name for name in view.names if view.sights[name].kind in ("mask", "masks")]
    tiles = [made for sample in view.samples for name in fields if (made := picture_of(view, sample, name, side))]
    if not tiles:
        kinds = ", ".join(map(str, view.names)) or "none"
        raise ValueError(
            f"there is no image to put into a grid; the fields are {kinds}. Images must be decoded, for example with"
            ' decode("auto"); infeed.show.html shows every kind of field'
        )
    across = columns or len(fields) * max(1, math.ceil(math.sqrt(len(tiles)) / len(fields)))
    across = min(across, len(tiles))
    down = math.ceil(len(tiles) / across)
    high = max(tile.pixels.shape[0] for tile in tiles)
    wide = max(tile.pixels.shape[1] for tile in tiles)
    sheet = np.full((down * (high + _GAP) + _GAP, across * (wide + _GAP) + _GAP, 3), 255, np.uint8)
    for number, tile in enumerate(tiles):
        top = _GAP + number // across * (high + _GAP)
        left = _GAP + number % across * (wide + _GAP)
        sheet[top : top + tile.pixels.shape[0], left : left + tile.pixels.shape[1]] = tile.pixels
    Path(path).write_bytes(png(sheet))
