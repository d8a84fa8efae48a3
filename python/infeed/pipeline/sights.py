"""What can be seen of a field: which fields are images, and how boxes and points lie in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .description import Description

#: Kinds of fields that lie in an image.
TARGETS = ("mask", "masks", "boxes", "keypoints")


class Sight(NamedTuple):
    """How a field is drawn. ``form`` and ``relative`` say what the numbers of boxes and points are.

    ``relative`` is None where nothing says it: the numbers have to tell.
    """

    kind: str
    form: str = "xyxy"
    relative: bool | None = None
    image: str | None = None


def sights_of(pipeline: Description) -> dict[str, Sight]:
    """How the fields of a pipeline's batches are drawn, by name."""
    fields = pipeline.plan.fields
    if not any(kind in TARGETS for _, kind, _ in fields):
        return {name: Sight(kind) for name, kind, _ in fields}
    recipe = pipeline.recipe
    return {name: _target(recipe, name, kind) if kind in TARGETS else Sight(kind) for name, kind, _ in fields}


def _target(recipe: Mapping[str, Any], name: str, kind: str) -> Sight:
    """Walks back from the last stage to the decoder of a field."""
    for stage in reversed(recipe["stage"]):
        if stage["op"] == "copy" and name in stage["to"]:
            name = stage["field"]
        elif stage["op"] == "decode" and name in stage["fields"]:
            args = stage["fields"][name]["args"]
            return Sight(kind, args.get("to", "xyxy"), bool(args.get("to_relative")), args.get("image"))
    source = recipe["source"]
    if "join" in source and source["join"]["op"] != "zip":  # joined parts agree about their fields
        return _target(source["part"][0], name, kind)
    return Sight(kind, "cxcywh", True) if source.get("format") == "yolo" else Sight(kind)
