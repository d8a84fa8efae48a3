"""Whether a loader slows its consumer: the time of a step with the loader at work, against the same with dummy batches.

Waiting is what a loop sees. A loader also slows a training process that never waits: its threads take cores, caches and
memory bandwidth from the thread that launches the step. That shows only in how long a step takes when data is free.
"""

from __future__ import annotations

import statistics
from typing import Any

#: How many steps are remembered: enough for a steady median, and the last ones say what is true now.
_KEPT = 512
#: The first steps compile, allocate and choose algorithms.
_WARMING = 3
#: Fewer steps say nothing.
_FEWEST = 8
#: Below this share a difference is noise.
_NOTED = 0.02


class StepTimes:
    """The consumer's own time between two batches, in nanoseconds, of the last steps."""

    def __init__(self) -> None:
        self._seen = 0
        self._times: list[int] = []

    def add(self, ns: int) -> None:
        """Another step."""
        self._seen += 1
        if self._seen <= _WARMING:
            return
        if len(self._times) < _KEPT:
            self._times.append(ns)
        else:
            self._times[self._seen % _KEPT] = ns

    @property
    def median(self) -> float | None:
        """Seconds of a usual step; None if too few were seen."""
        return statistics.median(self._times) / 1e9 if len(self._times) >= _FEWEST else None


def with_steps(numbers: dict[str, Any], text: str, loaded: StepTimes, free: StepTimes) -> str:
    """Add how long the consumer's steps take, with the loader and without, to statistics."""
    with_loader, without = loaded.median, free.median
    numbers["step_s"], numbers["free_step_s"], numbers["slowed_share"] = with_loader, without, None
    if with_loader is None or without is None or without <= 0:
        return text
    slowed = max(with_loader / without - 1, 0.0)
    numbers["slowed_share"] = slowed
    line = f"steps      {1e3 * with_loader:.2f} ms of your own between batches, {1e3 * without:.2f} ms with dummy batches"
    body, verdict, rest = text.rpartition("verdict ")
    text = f"{body}{line}\n{verdict}{rest}"
    if slowed < _NOTED:
        return text
    told = f"the loader slows your steps by {100 * slowed:.0f} %: {_cure(numbers)}"
    numbers["verdict"] = f"{numbers['verdict']}; {told}"
    return f"{text.rstrip()}; {told}\n" if text.endswith("\n") else f"{text}; {told}"


def _cure(numbers: dict[str, Any]) -> str:
    threads, idle = numbers["threads"], numbers["idle_share"]
    if numbers["priority"] != "low":
        return 'priority="low" lets your threads go first'
    if threads > 1 and idle > 0.1:
        return f"fewer threads than {threads} would do (they were idle {100 * idle:.0f} % of the time)"
    return f"fewer threads than {threads} leave it more cores, as long as the data keeps up"
