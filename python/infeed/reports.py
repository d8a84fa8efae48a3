"""Reports of pipelines and loaders: statistics, ledgers, verdicts, quality."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any


@dataclasses.dataclass(frozen=True)
class Field:
    """One field of a batch, as the plan knows it before anything is read.

    ``kind`` is image, mask, masks, boxes, keypoints, array, text, json or bytes. ``dtype`` is the element type by NumPy's
    name. ``layout`` says how samples lie in a batch: stack, pad, flat or list, or mask or offsets if the field tells this
    of another one. ``shape`` is that of one sample, or of one entry where samples lie end to end (flat), with None where
    it varies.
    """

    name: str
    kind: str
    dtype: str
    shape: tuple[int | None, ...]
    layout: str

    @property
    def type(self) -> str:
        """The element type, or the kind of a field that has none: text, json, bytes."""
        return self.kind if self.kind in ("text", "json", "bytes") else self.dtype

    @property
    def batched(self) -> str:
        """The shape in a batch, in words."""
        inner = ["?" if size is None else str(size) for size in self.shape]
        if self.type == self.kind:
            return "list"
        if self.layout == "list":
            return f"list of [{', '.join(inner)}]"
        first = {"flat": "all entries", "offsets": "batch + 1"}.get(self.layout, "batch")
        return f"[{', '.join([first, *inner])}]"


class Fields(dict[str, Field]):
    """The fields of a batch by name: a dict that prints as a small table. ``note`` says what a plan cannot know."""

    def __init__(self, fields: dict[str, Field], note: str = "") -> None:
        super().__init__(fields)
        self.note = note

    def table(self) -> list[list[str]]:
        """Name, kind, type and shape of every field."""
        return [[field.name, field.kind, field.type, field.batched] for field in self.values()]

    def __repr__(self) -> str:
        rows = self.table()
        wide = [max((len(row[at]) for row in rows), default=0) for at in range(4)]
        lines = ["  ".join(word.ljust(wide[at]) for at, word in enumerate(row)).rstrip() for row in rows]
        return "\n".join([*lines, *([f"({self.note})"] if self.note else [])]) or "no fields"

    def _repr_html_(self) -> str:
        from .show.page import fields_page

        return fields_page(self)


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
