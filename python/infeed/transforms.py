"""Transforms, with the names and parameters of ``torchvision.transforms.v2``.

They are descriptions: the loader's threads do the work, fused with decoding. ``infeed list transforms`` and
``infeed list batch_transforms`` show every parameter. The classes are made from the loader's own tables, so this module
always has all of its transforms.
"""

from __future__ import annotations

import json
import random
from typing import Any

from . import _core
from .described import Described, classes


class Transform(Described):
    """A transform by name and arguments."""

    def __call__(self, image: Any, *, seed: int | None = None) -> Any:
        """Apply it to one image (u8, height x width x channels) outside of a pipeline.

        Random choices differ from call to call and follow ``random.seed``; with ``seed`` they are always the same.
        """
        from .functions.stage import on_array

        chain = _core.Chain(json.dumps([[self.name, self.args]]))
        return on_array(chain, image, (random.getrandbits(64) if seed is None else seed, 0, 0, 0))


class BatchTransform(Transform):
    """A transform of whole batches, for :meth:`infeed.Pipeline.map_batch`."""

    def __call__(self, image: Any, *, seed: int | None = None) -> Any:
        """Raise ``TypeError``: it needs a batch, not one image."""
        raise TypeError(f"{self.name} works on batches: use map_batch({self!r}) after batch()")


_made = classes("transforms", Transform) | classes("batch_transforms", BatchTransform)
globals().update(_made)
__all__ = ["BatchTransform", "Transform", *_made]
