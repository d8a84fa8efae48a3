"""What recognition says: a takeover or a refusal, and the reason that travels up as an exception."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Nothing is taken over, and why. It counts as false."""

    reason: str

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return self.reason


class Unknown(Exception):
    """Something has no native twin. The text says what and why; it becomes a :class:`Refusal`."""


def short(thing: object, most: int = 100) -> str:
    """What a thing calls itself, on one line."""
    text = " ".join(repr(thing).split())
    return text if len(text) <= most else text[: most - 3] + "..."
