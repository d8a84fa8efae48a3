"""Options of the stages that apply one transform: the options of that transform, for type checkers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Required, TypedDict

from .._typing import IntegerName, Side


class TokenizeOptions(TypedDict, total=False):
    """Options of :class:`infeed.transforms.Tokenize`, apart from the tokenizer."""

    max_length: int | None
    truncation: Side
    special_tokens: bool
    bos: str | int | None
    eos: str | int | None
    dtype: IntegerName


class MaskOptions(TypedDict, total=False):
    """Options of :class:`infeed.transforms.MaskTokens`."""

    mask: Required[int | str]
    vocab: int
    probability: float
    keep: float
    random: float
    special: Sequence[int | str]
    ignore: int
    whole_words: str | None


class SpanOptions(TypedDict, total=False):
    """Options of :class:`infeed.transforms.CorruptSpans`."""

    sentinel_start: Required[int | str]
    length: int | None
    density: float
    mean_span: float
    eos: int | str | None
    ascending: bool
