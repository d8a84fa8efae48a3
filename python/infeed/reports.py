"""What a pipeline says of its order and of ledgers."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What ledgers prove. True when every row came exactly as often as promised; the text says it, or what is wrong."""

    exact: bool
    text: str

    def __bool__(self) -> bool:
        return self.exact

    def __str__(self) -> str:
        return self.text


class Quality(dict[str, Any]):
    """How well an order mixes: a dict of numbers that prints as a small table."""

    def __init__(self, numbers: dict[str, Any], text: str) -> None:
        super().__init__(numbers)
        self._text = text

    def __str__(self) -> str:
        return self._text
