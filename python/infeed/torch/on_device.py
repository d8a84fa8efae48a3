"""Transforms that run on the device, on whole batches: u8 images are copied to the device and become floats there.

>>> from infeed.torch import on_device
>>> loader = pipeline.to_torch(device="cuda", on_device=[on_device.Normalize(mean, std, dtype=torch.bfloat16)])

They are plain callables on tensors and can be used without a loader. Inside one, random choices depend on the seed, the
epoch, the step and the rank alone, so a resumed run makes the same ones.
"""

from __future__ import annotations

import functools
import inspect
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from .. import _core
from .._typing import Layout, one_of

__all__ = ["CutMix", "MixUp", "Normalize", "RandomHorizontalFlip", "ToLayout"]

#: Keeps the random choices made here apart from those of the pipeline's own transforms.
_STAGE = 0x6F6E_6465_7600
_FEW = (1, 3, 4)


def _channels(images: torch.Tensor) -> int:
    """The axis of the channels: 1, or 3 where images lie as height x width x channels."""
    if images.ndim != 4:
        raise ValueError(f"expected a batch of images of one size, got a tensor of shape {tuple(images.shape)}")
    return 3 if images.shape[3] in _FEW and images.shape[1] not in _FEW else 1


class Normalize:
    """``(x / 255 - mean) / std`` for u8, ``(x - mean) / std`` for float: what :class:`infeed.transforms.Normalize` does.

    The result is always N x C x H x W. Images that came as height x width x channels keep their memory layout, which is
    then ``channels_last``. One kernel reads the input and writes ``dtype``; it computes in float32.
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], *, dtype: torch.dtype = torch.float32) -> None:
        self.mean, self.std, self.dtype = tuple(map(float, mean)), tuple(map(float, std)), dtype
        if len(self.mean) != len(self.std) or not self.mean:
            raise ValueError(f"mean and std need one number per channel, got {len(self.mean)} and {len(self.std)}")
        if not all(self.std):
            raise ValueError(f"std must not be zero, got {list(self.std)}")
        if not dtype.is_floating_point:
            raise TypeError(f"Normalize gives floating point numbers, not {dtype}")

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """Normalise a batch."""
        if _channels(images) == 3:
            images = images.permute(0, 3, 1, 2)
        if images.shape[1] not in (1, len(self.mean)):
            raise ValueError(f"mean and std are for {len(self.mean)} channels, and the images have {images.shape[1]}")
        levels = 1.0 if images.is_floating_point() else 255.0
        scale, bias = _scale_and_bias(self.mean, self.std, levels, images.device)
        out = torch.empty_like(images, dtype=self.dtype)
        return torch.addcmul(bias, images, scale, out=out)

    def __repr__(self) -> str:
        return f"Normalize({list(self.mean)}, {list(self.std)}, dtype={self.dtype})"


@functools.lru_cache(maxsize=64)
def _scale_and_bias(
    mean: tuple[float, ...], std: tuple[float, ...], levels: float, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    shape = (1, len(mean), 1, 1)
    scale = torch.tensor([1 / (levels * s) for s in std], dtype=torch.float32).view(shape)
    bias = torch.tensor([-m / s for m, s in zip(mean, std, strict=True)], dtype=torch.float32).view(shape)
    return scale.to(device), bias.to(device)


class RandomHorizontalFlip:
    """Mirrors each image left to right with probability ``p``."""

    def __init__(self, p: float = 0.5) -> None:
        if not 0 <= p <= 1:
            raise ValueError(f"p is a probability, got {p}")
        self.p = p

    def __call__(self, images: torch.Tensor, *, generator: torch.Generator | None = None) -> torch.Tensor:
        """Mirror some images of a batch."""
        width = 2 if _channels(images) == 3 else 3
        chosen = torch.rand(len(images), device=images.device, generator=generator) < self.p
        return torch.where(chosen.view(-1, 1, 1, 1), images.flip(width), images)

    def __repr__(self) -> str:
        return f"RandomHorizontalFlip({self.p})"


class ToLayout:
    """Puts the axes in order: ``"CHW"``, ``"HWC"``, or ``"channels_last"``, which is C x H x W that lies as H x W x C."""

    def __init__(self, layout: Layout) -> None:
        one_of("layout", layout, Layout)
        self.layout = layout

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """Move the axes, and the memory where needed."""
        if _channels(images) == 3:
            images = images.permute(0, 3, 1, 2)
        if self.layout == "HWC":
            return images.permute(0, 2, 3, 1).contiguous()
        last = self.layout == "channels_last"
        return images.contiguous(memory_format=torch.channels_last if last else torch.contiguous_format)

    def __repr__(self) -> str:
        return f"ToLayout({self.layout!r})"


class _Mixing:
    """Mixes each image with its neighbour in the batch, and their labels as well."""

    def __init__(self, alpha: float = 1.0, *, num_classes: int) -> None:
        if alpha <= 0:
            raise ValueError(f"alpha must be positive, got {alpha}")
        self.alpha, self.num_classes = float(alpha), int(num_classes)

    def __call__(
        self, images: torch.Tensor, labels: torch.Tensor, *, generator: torch.Generator | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Images and labels of a batch; labels become one probability per class."""
        # Drawn on the host: reading a number from the device would have to wait for it.
        rng = random.Random(None if generator is None else generator.initial_seed())
        images, share = self._mix(images, rng.betavariate(self.alpha, self.alpha), rng)
        if labels.ndim == 1:
            classes = torch.arange(self.num_classes, device=labels.device)
            labels = (labels.unsqueeze(1) == classes).to(torch.float32)
        return images, labels.mul(share).add_(labels.roll(1, 0), alpha=1 - share)

    def _mix(self, images: torch.Tensor, share: float, rng: random.Random) -> tuple[torch.Tensor, float]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.alpha}, num_classes={self.num_classes})"


class MixUp(_Mixing):
    """A weighted mean of two images, with a weight from Beta(alpha, alpha), one for each batch. After ``Normalize``."""

    def _mix(self, images: torch.Tensor, share: float, rng: random.Random) -> tuple[torch.Tensor, float]:
        if not images.is_floating_point():
            raise TypeError(f"MixUp takes floating point images, got {images.dtype}: put Normalize before it")
        return torch.lerp(images.roll(1, 0), images, share), share


class CutMix(_Mixing):
    """A rectangle of one image pasted into another, with an area from Beta(alpha, alpha), one position for each batch."""

    def _mix(self, images: torch.Tensor, share: float, rng: random.Random) -> tuple[torch.Tensor, float]:
        first = 1 if _channels(images) == 3 else 2
        height, width = images.shape[first], images.shape[first + 1]
        side = (1 - share) ** 0.5
        y, x, dy, dx = rng.randrange(height), rng.randrange(width), side * height / 2, side * width / 2
        top, bottom = int(max(y - dy, 0)), int(min(y + dy, height))
        left, right = int(max(x - dx, 0)), int(min(x + dx, width))
        out = images.clone()
        window = (slice(None),) * first + (slice(top, bottom), slice(left, right))
        out[window] = images.roll(1, 0)[window]
        return out, 1 - (bottom - top) * (right - left) / (height * width)


class Stages:
    """The transforms of one loader, the fields they apply to, and the source of their randomness."""

    def __init__(
        self,
        transforms: Iterable[Callable[..., Any]],
        *,
        on: Sequence[str],
        label: str | None,
        seed: int,
        place: tuple[int, int],
    ) -> None:
        self._steps = [(transform, _takes_generator(transform)) for transform in transforms]
        self._on, self._label, self._seed = list(on), label, seed
        self._rank, self._size = place
        for transform, _ in self._steps:
            if not callable(transform):
                raise TypeError(f"on_device takes callables, got {transform!r}")
            if isinstance(transform, _Mixing) and (label is None or len(self._on) != 1):
                raise ValueError(
                    f"{transform!r} mixes one field of images with their labels: name both, for example"
                    ' to_torch(..., on="jpg", label="cls")'
                )
        if self._steps and not self._on:
            raise ValueError('the pipeline has no images, so on= must name the fields of on_device: on="x"')

    def __call__(self, fields: dict[str, Any], at: tuple[int, int], device: torch.device) -> None:
        """Change the fields of the batch at (epoch, step)."""
        for number, (transform, random_) in enumerate(self._steps):
            generator = None
            if random_:
                row = at[1] * self._size + self._rank
                address = _core.random_at(self._seed, at[0], row, _STAGE + number)
                generator = torch.Generator(device=device)
            for name in self._on:
                image = fields[name]
                if not isinstance(image, torch.Tensor):
                    raise TypeError(
                        f"the images of {name!r} differ in size, so {transform!r} cannot take them as one batch: crop"
                        ' or resize them in the pipeline, or use batch(n, ragged="pad")'
                    )
                more = {}
                if generator is not None:
                    # Seeded for each field, so that an image and its mask get the same choices.
                    more["generator"] = generator.manual_seed(address)
                if isinstance(transform, _Mixing) and self._label is not None:
                    fields[name], fields[self._label] = transform(image, fields[self._label], **more)
                else:
                    fields[name] = transform(image, **more)


def _takes_generator(transform: Callable[..., Any]) -> bool:
    try:
        return "generator" in inspect.signature(transform).parameters
    except (TypeError, ValueError):
        return False
