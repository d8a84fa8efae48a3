"""The results of recognition: refusals, and the exception that carries the reason."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Refusal:
    """The reason why nothing is taken over. It is falsy."""

    reason: str

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return self.reason


class Unknown(Exception):
    """Something has no native twin. The text says what and why; it becomes a :class:`Refusal`."""


def short(thing: object, most: int = 100) -> str:
    """The ``repr`` of an object, shortened to one line."""
    text = " ".join(repr(thing).split())
    return text if len(text) <= most else text[: most - 3] + "..."
