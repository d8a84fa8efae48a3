"""Adapters for the calling conventions of other augmentation libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def library(call: Any) -> str | None:
    """The library that a callable comes from, if that library needs an adapter."""
    for cls in type(call).__mro__:
        root = cls.__module__.partition(".")[0]
        if root == "albumentations":
            return "albumentations"
        if cls.__module__.startswith("torchvision.transforms"):
            return "torchvision"
    return None


_TRANSFORMS = (
    "infeed.transforms",
    "infeed.decoders",
    "infeed.torch.on_device",
    "torchvision.transforms",
    "albumentations",
)


def refuse_class(method: str, call: Any) -> None:
    """Raise for the class of a transform, which is callable but transforms nothing."""
    if isinstance(call, type) and any(cls.__module__.startswith(_TRANSFORMS) for cls in call.__mro__):
        prefix = {"infeed.transforms": "T.", "infeed.decoders": "D."}.get(call.__module__, "")
        name, kind = f"{prefix}{call.__name__}", "decoders" if prefix == "D." else "transforms"
        raise TypeError(f"{method} takes {kind}, and {name} is the class of one: give {name}(...)")


def adapted(call: Callable[..., Any], on: tuple[str, ...]) -> Callable[..., Any]:
    """The callable for samples, or for the value of the fields ``on``.

    torchvision's transforms get tensors (channels first), or PIL images if they are to make tensors of them.
    albumentations gets ``image=`` (and ``mask=`` for a second field). Both get height x width x channels from infeed.
    """
    kind = library(call)
    if kind == "albumentations" and on:
        return _Albumentations(call)
    if kind == "torchvision" and on:
        return _Torchvision(call)
    return call


class _Albumentations:
    def __init__(self, call: Any) -> None:
        self.call = call

    def seed(self, number: int) -> None:
        """Seed its generators: they are its own, so global seeds do not affect them."""
        if hasattr(self.call, "set_random_seed"):
            self.call.set_random_seed(number % 2**32)

    def __call__(self, value: Any) -> Any:
        if isinstance(value, tuple):
            made = self.call(image=value[0], mask=value[1])
            return made["image"], made["mask"]
        return self.call(image=value)["image"]


class _Torchvision:
    """Gives tensors, or to chains that make tensors of PIL images those images: they take nothing else."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.given = _picture if _takes_pictures(call) else _tensor

    def __call__(self, value: Any) -> Any:
        values = value if isinstance(value, tuple) else (value,)
        made = self.call(*[self.given(v) for v in values])
        return tuple(made) if isinstance(value, tuple) else made


def _takes_pictures(call: Any) -> bool:
    """Whether a transform, or one of a chain, turns PIL images into tensors. ``v2.ToTensor`` and ``v2.PILToTensor`` leave
    tensors as they are, so that images would stay u8 without a word.
    """
    inner = getattr(call, "transforms", None)
    if isinstance(inner, list | tuple):
        return any(_takes_pictures(one) for one in inner)
    return type(call).__name__ in ("ToTensor", "PILToTensor") and library(call) == "torchvision"


def _picture(value: Any) -> Any:
    """An image of infeed, or of a transform of torchvision before this one, as a PIL image; other values as they are."""
    if hasattr(value, "detach") and value.ndim == 3 and str(value.dtype) == "torch.uint8":
        value = value.detach().cpu().permute(1, 2, 0).numpy()
    if not isinstance(value, np.ndarray) or value.ndim not in (2, 3) or value.dtype != np.uint8:
        return value
    from PIL import Image

    return Image.fromarray(value[..., 0] if value.ndim == 3 and value.shape[2] == 1 else value)


def _tensor(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    import torch

    # torch has no read-only tensors, and warns.
    tensor = torch.from_numpy(value if value.flags.writeable else value.copy())
    if value.ndim != 3 or value.dtype != np.uint8:
        return tensor
    try:
        from torchvision import tv_tensors
    except ImportError:
        return tensor.permute(2, 0, 1)
    return tv_tensors.Image(tensor.permute(2, 0, 1))
