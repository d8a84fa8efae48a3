"""The pictures of samples: each image with what lies in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..pipeline.sights import TARGETS
from .draw import draw, mask_picture
from .pixels import Picture, picture
from .samples import View, image_of

#: Masks are painted first, so that they do not hide boxes and points.
_LAYERS = ("mask", "masks", "boxes", "keypoints")


def picture_of(view: View, sample: Mapping[str, Any], name: str, most: int) -> Picture | None:
    """The picture of a field that is an image or a mask; None for everything else."""
    kind = view.sights[name].kind
    if kind in ("mask", "masks"):
        return mask_picture(kind, sample.get(name), most)
    if kind != "image":
        return None
    made = picture(sample.get(name), most)
    if made is not None:
        targets = [
            other for other in view.names if view.sights[other].kind in TARGETS and image_of(other, view) == name
        ]
        for other in sorted(targets, key=lambda field: _LAYERS.index(view.sights[field].kind)):
            draw(made, view.sights[other], sample.get(other))
    return made
