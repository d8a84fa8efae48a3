"""Arguments of formats, as they are stored in a recipe."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from .._typing import Drift, IntegerDtype, IntegerName, Nulls, Read, SplitPart

Scalar = float | str | bool


class TableFormatArgs(TypedDict, total=False):
    """Arguments of single table formats: see :func:`infeed.arrow`, :func:`infeed.sqlite` and :func:`infeed.csv`."""

    read: Read
    split: str | None
    table: str | None
    query: str | None
    key: str | Iterable[str] | None
    page: int | None
    delimiter: str | None
    header: bool
    names: Sequence[str] | None
    types: Mapping[str, str] | None


class TableReadArgs(TableFormatArgs, total=False):
    """The same, and the arguments of every table format: see :func:`infeed.parquet`."""

    where: str | None
    nulls: Nulls
    fill: Scalar | Mapping[str, Scalar] | None


class TokenArgs(TypedDict, total=False):
    """The arguments of :func:`infeed.tokens`, except those that choose the samples."""

    dtype: IntegerDtype
    labels: bool
    eod: int | None
    position_ids: bool
    loss_mask: bool
    document_ids: bool
    attention_mask: bool
    reset: bool
    stride: int | None
    split: str | None
    part: SplitPart
    cache: str | os.PathLike[str] | None
    vocab: int | None
    raw: IntegerName | None
    read: Read
    drift: Drift


def table_args(**given: Any) -> dict[str, Any]:
    """Arguments for a recipe, without those that have their default."""
    out: dict[str, Any] = {}
    for name, value in given.items():
        if value is None or (name, value) in (("nulls", "auto"), ("read", "mmap")):
            continue
        name = name.rstrip("_")
        if name in ("columns", "key") and not isinstance(value, str):
            value = list(value)
        elif isinstance(value, Mapping):
            value = dict(value)
        out[name] = value
    return out
