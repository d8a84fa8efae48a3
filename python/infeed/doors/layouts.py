"""Images that lie as height x width x channels, and views of them with the channels first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ..pipeline import Pipeline

#: The transforms after which the order of an image's axes is known. Decoders give height x width x channels.
_LAST_AXIS_IS_CHANNELS = {"ToHWC": True, "ToCHW": False, "Normalize": False}
#: Channels of an image whose decoder leaves that to the file.
_ANY = (1, 3, 4)


def hwc_images(pipeline: Pipeline) -> dict[str, tuple[int, ...]]:
    """The images of a pipeline that lie as height x width x channels, and how many channels they can have."""
    plan = pipeline.plan
    found: dict[str, tuple[int, ...]] = {}
    for (name, kind, _), shape in zip(plan.fields, plan.shapes, strict=True):
        if kind == "image" and _channels_are_last(pipeline, name):
            found[name] = _ANY if shape[-1] is None else (shape[-1],)
    return found


def _channels_are_last(pipeline: Pipeline, name: str) -> bool:
    # Transforms behind a Python function are no stages of the recipe.
    for function in reversed(pipeline._functions):
        if function.op == "native" and (not function.on or name in function.on):
            for transform in reversed(function.call):
                if transform.name in _LAST_AXIS_IS_CHANNELS:
                    return _LAST_AXIS_IS_CHANNELS[transform.name]
    return _last_in_recipe(pipeline.recipe, name)


def _last_in_recipe(recipe: Mapping[str, Any], name: str) -> bool:
    """Walks back from the last stage to the one that decided."""
    for stage in reversed(recipe["stage"]):
        if stage["op"] == "copy" and name in stage["to"]:
            name = stage["field"]
        elif (
            stage["op"] == "map"
            and stage["name"] in _LAST_AXIS_IS_CHANNELS
            and (not stage["on"] or name in stage["on"])
        ):
            return _LAST_AXIS_IS_CHANNELS[stage["name"]]
    # Joined parts agree about their fields: the plan refuses others.
    return _last_in_recipe(recipe["source"]["part"][0], name) if "join" in recipe["source"] else True


def with_channels_first(column: Any, channels: tuple[int, ...]) -> Any:
    """A column that a Python function made of a field of images, with its NumPy arrays as views with channels first.

    An array is an image if it has the axes of one and as many channels as the field. Everything else stays: tensors
    are what the function wanted them to be.
    """
    if isinstance(column, list):
        return [_first(item, 3, channels) if isinstance(item, np.ndarray) else item for item in column]
    return _first(column, 4, channels) if isinstance(column, np.ndarray) else column


def _first(array: npt.NDArray[Any], axes: int, channels: tuple[int, ...]) -> npt.NDArray[Any]:
    if array.ndim != axes or array.shape[-1] not in channels:
        return array
    return np.moveaxis(array, -1, -3)
