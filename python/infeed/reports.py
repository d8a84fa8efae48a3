"""Reports of pipelines and loaders: statistics, ledgers, verdicts, quality."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What ledgers prove. True if every row came exactly as often as promised; the text says so, or what is wrong."""

    exact: bool
    text: str

    def __bool__(self) -> bool:
        return self.exact

    def __str__(self) -> str:
        return self.text


class Quality(dict[str, Any]):
    """How well an order shuffles: a dict of numbers that prints as a small table."""

    def __init__(self, numbers: dict[str, Any], text: str) -> None:
        super().__init__(numbers)
        self._text = text

    def __str__(self) -> str:
        return self._text


class Stats(dict[str, Any]):
    """What a loader has done so far: a dict of numbers that prints as a small table."""

    def __init__(self, numbers: dict[str, Any], text: str) -> None:
        super().__init__(numbers)
        self._text = text

    def __str__(self) -> str:
        return self._text


class Ledger(dict[str, Any]):
    """What one loader has handed out, as proof: plain data, some 200 bytes per epoch. See :meth:`Loader.ledger`."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, for ``infeed verify-epoch``."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self, file)
