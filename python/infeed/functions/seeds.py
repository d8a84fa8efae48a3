"""Random choices of Python functions: addressed by (seed, epoch, row), as those of the engine are."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np

from .. import _core

# Stage numbers of the engine count up from 0; those of Python functions live elsewhere.
FIRST = 1 << 32
# What the global generators are seeded with, once per row.
ROW = 1 << 33


def generator(seed: int, epoch: int, row: int, stage: int) -> np.random.Generator:
    """A generator of its own for a function that has a parameter ``rng``."""
    return np.random.Generator(np.random.Philox(key=_core.random_at(seed, epoch, row, FIRST + stage)))


def seed_all(number: int) -> None:
    """Seed the generators that libraries use when nobody gives them one."""
    random.seed(number)
    np.random.seed(number % 2**32)
    torch = sys.modules.get("torch")
    if torch is not None:
        # The CPU's generator alone: `torch.manual_seed` would reach for every device.
        torch.random.default_generator.manual_seed(number % 2**63)


class Kept:
    """The state of those generators, put back when the block ends: the consumer's randomness is its own."""

    def __enter__(self) -> None:
        self.random = random.getstate()
        self.numpy = np.random.get_state()
        torch = sys.modules.get("torch")
        self.torch: Any = None if torch is None else torch.random.default_generator.get_state()

    def __exit__(self, *_: object) -> None:
        random.setstate(self.random)
        np.random.set_state(self.numpy)
        if self.torch is not None:
            sys.modules["torch"].random.default_generator.set_state(self.torch)
