"""Decoders with arguments, for :meth:`infeed.Pipeline.decode`.

>>> from infeed import decoders as D
>>> data.decode(jpg=D.rgb(exact=True), embedding=D.npy(shape=(512,), dtype="float32"), cls="int")

A decoder without arguments can be given by its name. ``infeed list decoders`` shows every parameter. The classes are made
from the loader's own table, so this module always has all of its decoders.
"""

from __future__ import annotations

from .described import Described, classes


class Decoder(Described):
    """A decoder by name and arguments."""


_made = classes("decoders", Decoder)
# Some are named like builtins, so nothing in this module may use those.
globals().update(_made)
__all__ = ["Decoder", *_made]
