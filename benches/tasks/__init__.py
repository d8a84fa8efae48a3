"""What `tasks.py` measures: the works, their data, and both sides."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Brightness, contrast, saturation, hue.
JITTER = (0.4, 0.4, 0.4, 0.1)
#: Tokens that a caption has at most.
LONGEST = 64
#: Count, size and area of the crops of self-supervised learning.
VIEWS = {"global": (2, 224, (0.4, 1.0)), "local": (6, 96, (0.05, 0.4))}
#: Jitter of views, and how often they are jittered and gray.
VIEW_JITTER, VIEW_JITTERED, VIEW_GRAY = (0.4, 0.4, 0.2, 0.1), 0.8, 0.2
#: How often each view is blurred, and solarised: the first global one always, the second rarely.
VIEW_BLURRED = {"global_0": 1.0, "global_1": 0.1, **{f"local_{i}": 0.5 for i in range(6)}}
VIEW_SOLARISED = {"global_1": 0.2}
BLUR, SOLARISED_FROM = (9, (0.1, 2.0)), 128


@dataclass(frozen=True)
class Work:
    """One work: what is made of a row, the batch size, and the ratio that is the aim."""

    about: str
    batch: int
    target: float


WORKS = {
    "detection": Work("JPEG and boxes: resize 640x640, flip, colour jitter, boxes as lists", 16, 4.0),
    "segmentation": Work("JPEG and palette PNG: random resized crop 512, flip, colour jitter", 16, 4.0),
    "views": Work(
        "JPEG: two crops of 224 and six of 96, flips, each with the colours, blur and solarisation of DINO", 32, 4.0
    ),
    "crops": Work("JPEG: two crops of 224 and six of 96, flips, and nothing else", 32, 4.0),
    "captions": Work("JPEG and caption: random resized crop 224, flip; tokens, padded", 32, 3.0),
}


@dataclass(frozen=True)
class Task:
    """A work on some data."""

    work: str
    data: Path
    dtype: str
    threads: int

    @property
    def batch(self) -> int:
        """The batch size."""
        return WORKS[self.work].batch


#: Images first, then whatever belongs to them.
Batch = tuple[Any, ...]
