"""A warning about masks that were decoded as images: transforms would mix their classes."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .description import Description

_IMAGES = {"rgb", "gray", "stored"}
#: Transforms that compute new pixels from several old ones.
_MIX = {
    "Resize",
    "RandomResizedCrop",
    "RandomAffine",
    "RandomRotation",
    "RandomPerspective",
    "ScaleJitter",
    "RandomShortestSize",
}
#: More values than this are no classes, but a picture.
_CLASSES = 32
_PNG = b"\x89PNG\r\n\x1a\n"
_GRAY, _PALETTE = 0, 3


def warn_of_masks(pipeline: Description) -> None:
    """Warn if a field that is decoded as an image beside another one looks like a mask in the first row."""
    recipe = pipeline.recipe
    decoded = _decoded(recipe)
    if len(decoded) < 2 or recipe["source"].get("join") or not recipe["source"].get("paths"):
        return
    mixed = {
        name for stage in recipe["stage"] if stage["op"] == "map" and stage["name"] in _MIX for name in stage["on"]
    }
    everything = any(s["op"] == "map" and s["name"] in _MIX and not s["on"] for s in recipe["stage"])
    suspects = [name for name in decoded if everything or name in mixed]
    if not suspects or pipeline.plan.is_stream:
        return
    for name in suspects:
        values = _classes(pipeline, recipe["source"], name)
        if values is not None:
            warnings.warn(
                f"the field `{name}` looks like a mask: its first image is a PNG with {values} values. Decoded as an"
                f' image, its classes are mixed by interpolation; decode({{"{name}": "mask"}}) moves them unchanged',
                stacklevel=3,
            )


def _decoded(recipe: dict[str, Any]) -> list[str]:
    uses = [stage["fields"] for stage in recipe["stage"] if stage["op"] == "decode"]
    return [name for fields in uses for name, use in fields.items() if use["name"] in _IMAGES]


def _classes(pipeline: Description, source: dict[str, Any], field: str) -> int | None:
    """How many values the first image of a field has, if it is a PNG whose pixels can be classes."""
    from ..doors.loader import Loader

    def first(*stages: dict[str, Any]) -> Any:
        select = {"op": "select", "fields": [field]}
        part = type(pipeline)({"source": source, "stage": [select, *stages]}, pipeline._given)
        loader = Loader(part, threads=1, prefetch=1, on_error="skip", rank=0, world_size=1)  # type: ignore[arg-type]
        with loader:
            batch: Any = next(iter(loader.over([[0]])), {})
        found = batch[field][0] if len(batch.get(field, ())) else None
        return b"" if found is None else found

    header = bytes(first())[:26]
    if not header.startswith(_PNG) or header[25] not in (_GRAY, _PALETTE) or header[24] > 8:
        return None
    pixels = first({"op": "decode", "fields": {field: {"name": "gray", "args": {}}}})
    values = len(np.unique(pixels))
    return values if values <= _CLASSES else None
