"""Chaos mode: delays, read faults and deaths of workers on purpose, to show that a training loop survives them."""

from __future__ import annotations

import os
import random

VARIABLE = "INFEED_CHAOS"
"""Names the seed for every loader of the process, where it was not given as ``chaos=``."""

_DEATHS = 1 / 20
"""How many tasks of worker processes cost the life of a worker."""


def seed_of(given: int | None) -> int | None:
    """The seed of chaos: the given one, else that of the environment; None if there is none."""
    if given is not None:
        if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < 2**64:
            raise ValueError(f"chaos= must be a seed, an integer from 0 to 2**64 - 1, not {given!r}")
        return given
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text) < 2**64):
        raise ValueError(f"{VARIABLE} must be a seed, an integer from 0 to 2**64 - 1, not {text!r}")
    return int(text)


def victim(seed: int, number: int, workers: int) -> int | None:
    """Which of the worker processes is killed when a task is submitted; None for most tasks."""
    # A string, because it is hashed in the same way on every machine.
    draw = random.Random(f"{seed} {number}")
    return draw.randrange(workers) if draw.random() < _DEATHS else None
