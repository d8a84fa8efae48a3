"""One function of a pipeline."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from ..transforms import Transform
from .adapt import adapted
from .writable import makes_tensors, with_copies


@dataclasses.dataclass(frozen=True)
class Function:
    """A callable, the fields it is applied to, and the stage number of its random choices.

    ``op`` is ``map``, ``filter``, ``flat_map``, ``map_batch``, ``native`` (transforms of infeed behind a Python function)
    or ``tuple``.
    """

    op: str
    call: Any
    on: tuple[str, ...] = ()
    seeded: bool = True
    number: int = 0

    @property
    def name(self) -> str:
        """The name in messages and in ``explain()``."""
        if self.op == "tuple":
            return f"to_tuple({', '.join(self.call)})"
        if self.op == "native":
            return f"map({', '.join(t.name for t in self.call)})"
        call = getattr(self.call, "func", self.call)
        what = getattr(call, "__qualname__", None) or type(call).__qualname__
        return f"{self.op}({what})"

    def prepared(self) -> Prepared:
        """What :class:`~infeed.functions.Tail` calls; created in the process that runs it."""
        if self.op == "native":
            return Prepared(_Native(self.call, self.number))
        if self.op == "tuple":
            return Prepared(lambda value, rng: value)
        call = adapted(self.call, self.on)
        seed = getattr(call, "seed", None) if call is not self.call else None
        made: Callable[[Any, Any], Any] = lambda value, rng: call(value)  # noqa: E731
        if takes_rng(self.call):
            made = lambda value, rng: call(value, rng=rng())  # noqa: E731
        # Batches are writable as they are.
        return Prepared(with_copies(made) if self.op != "map_batch" and makes_tensors(self.call) else made, seed)


@dataclasses.dataclass(frozen=True)
class Prepared:
    """``call(value, rng)``, or ``call(value, address)`` for transforms of infeed; ``seed`` for libraries that have their
    own generators.
    """

    call: Callable[[Any, Any], Any]
    seed: Callable[[int], None] | None = None


class _Native:
    """Transforms of infeed on arrays that a Python function made."""

    def __init__(self, transforms: tuple[Transform, ...], number: int) -> None:
        self.chain = _core.Chain(json.dumps([[t.name, t.args] for t in transforms]))
        self.number = number

    def __call__(self, value: Any, address: tuple[int, int, int]) -> Any:
        return on_array(self.chain, value, (*address, self.number))


def on_array(chain: _core.Chain, value: Any, address: tuple[int, int, int, int]) -> Any:
    """Apply transforms of infeed to one image: u8, height x width x channels."""
    array = np.asarray(value)
    if array.dtype != np.uint8 or array.ndim not in (2, 3):
        raise TypeError(
            f"transforms of infeed take u8 images of height x width x channels, got {array.dtype}{array.shape};"
            " put them before functions that change the type or the layout"
        )
    size = (array.shape[0], array.shape[1], 1 if array.ndim == 2 else array.shape[2])
    made = chain.apply(np.ascontiguousarray(array).reshape(-1), size, address)
    out = np.asarray(made)
    return out.reshape(out.shape[:2]) if array.ndim == 2 and out.shape[-1] == 1 else out


def takes_rng(call: Any) -> bool:
    """Whether a function has a parameter ``rng``, which asks for its own random generator."""
    try:
        return "rng" in inspect.signature(call).parameters
    except (TypeError, ValueError):
        return False
