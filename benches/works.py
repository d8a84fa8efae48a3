"""The works that every loader does, and the task of one runner.

Standard library only: this module is imported in every environment, beside very different packages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
CROP = 224
RESIZE = 256
AREA = (0.08, 1.0)
ASPECT = (3 / 4, 4 / 3)

#: What a runner hands out: (images, labels). Images are an array, a tensor or a list of encoded byte strings.
Batch = tuple[Any, Any]
#: Called once per epoch; returns that epoch's batches.
Epochs = Callable[[], Iterable[Batch]]


@dataclass(frozen=True)
class Work:
    """One kind of loading, with the ratios infeed has to reach on it."""

    name: str
    about: str
    batch: int
    over_best: float
    over_torch: float | None = None


WORKS: dict[str, Work] = {
    w.name: w
    for w in (
        Work("train", "decode, RandomResizedCrop 224, flip, normalise, f32 CHW, batch 64", 64, 1.5, 2.5),
        Work("train_u8", "the same without normalising, u8, batch 64", 64, 1.25),
        Work("eval", "decode, Resize 256, CenterCrop 224, normalise, f32 CHW, batch 64", 64, 1.5, 2.5),
        Work("raw", "encoded bytes and label, batch 256", 256, 1.5),
        Work("small", "PNG 32x32 decoded, u8, batch 256", 256, 8.0),
    )
}


@dataclass(frozen=True)
class Task:
    """What one runner is to do: a work, on this data, with so many threads (or worker processes)."""

    work: str
    data: Path
    threads: int
    #: Image decoder for a loader that brings none of its own: "pil", "io" (torchvision.io), "cv2".
    decoder: str = "pil"

    @property
    def batch(self) -> int:
        """Samples per batch."""
        return WORKS[self.work].batch

    @property
    def encoded(self) -> bool:
        """Whether samples stay encoded."""
        return self.work == "raw"

    @property
    def normalised(self) -> bool:
        """Whether the result is f32 CHW rather than u8 HWC."""
        return self.work in ("train", "eval")

    @property
    def random(self) -> bool:
        """Whether the work augments."""
        return self.work in ("train", "train_u8")

    @property
    def source(self) -> str:
        """The data set this work reads: photographs or small PNGs."""
        return "small" if self.work == "small" else "photos"
