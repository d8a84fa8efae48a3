"""Whether a series of measurements grows: least squares, with a standard error that knows that neighbours are alike."""

from __future__ import annotations

import dataclasses
import itertools
import math

LEVEL = 0.001
"""A series without a trend is called growing once in a thousand soaks."""
FEWEST = 8
"""Points below which a slope means nothing."""


@dataclasses.dataclass(frozen=True)
class Slope:
    """The slope of a series per step, its standard error, and how likely such a slope is without a trend."""

    name: str
    slope: float
    error: float
    p: float
    points: int

    @property
    def grows(self) -> bool:
        return self.p < LEVEL

    def __str__(self) -> str:
        verdict = "GROWS" if self.grows else "flat"
        numbers = f"{self.slope:+.4g} +- {self.error:.2g} per round, p = {self.p:.3g}, {self.points} rounds"
        return f"{self.name}: {numbers}: {verdict}"


def upper_tail(t: float, freedom: float) -> float:
    """The probability that Student's t is above ``t`` (Simpson's rule over x = tan a, where the range is finite)."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    low, high, steps = math.atan(t / math.sqrt(freedom)), math.pi / 2, 2000

    def density(a: float) -> float:
        return scale * max(math.cos(a), 0.0) ** (freedom - 1)

    width = (high - low) / steps
    inner = sum((4 if i % 2 else 2) * density(low + i * width) for i in range(1, steps))
    return min(1.0, max(0.0, (density(low) + inner + density(high)) * width / 3))


def slope_of(name: str, values: list[float]) -> Slope:
    """The slope of values that were measured at equal distances."""
    n = len(values)
    if n < FEWEST:
        raise ValueError(f"{name}: a slope needs at least {FEWEST} points, there are {n}")
    middle, mean = (n - 1) / 2, sum(values) / n
    spread = sum((i - middle) ** 2 for i in range(n))
    slope = sum((i - middle) * (v - mean) for i, v in enumerate(values)) / spread
    rest = [v - mean - slope * (i - middle) for i, v in enumerate(values)]
    squares = sum(r * r for r in rest)
    if squares <= 1e-18 * max(1.0, mean * mean):
        return Slope(name, slope, 0.0, 0.0 if slope > 1e-9 else 1.0, n)
    # Memory moves in steps that stay. Residuals that resemble their neighbours are worth fewer points than there are.
    alike = sum(a * b for a, b in itertools.pairwise(rest)) / squares
    alike = min(max(alike, 0.0), 0.95)
    worth = max(4.0, n * (1 - alike) / (1 + alike))
    error = math.sqrt(squares / (n - 2) / spread * n / worth)
    return Slope(name, slope, error, upper_tail(slope / error, worth - 2), n)
