"""Random generators for Python functions, addressed by (seed, epoch, row) like those of the engine."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np

from .. import _core

# Stage numbers of the engine start at 0; those of Python functions start here, so they never collide.
FIRST = 1 << 32
# The stage number for the seed of the global generators, which are seeded once per row.
ROW = 1 << 33


def generator(seed: int, epoch: int, row: int, stage: int) -> np.random.Generator:
    """A generator of its own for a function that has a parameter ``rng``."""
    return np.random.Generator(np.random.Philox(key=_core.random_at(seed, epoch, row, FIRST + stage)))


def seed_all(number: int) -> None:
    """Seed the global generators: those that libraries use by default."""
    random.seed(number)
    np.random.seed(number % 2**32)
    torch = sys.modules.get("torch")
    if torch is not None:
        # Only the CPU's generator: `torch.manual_seed` would seed every device.
        torch.random.default_generator.manual_seed(number % 2**63)


class Kept:
    """Restores the state of those generators at the end of a block, so that the consumer's randomness is unaffected."""

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
