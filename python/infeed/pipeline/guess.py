"""The decoders of fields, from the contents of some rows: what ``infeed inspect`` proposes."""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .description import Description

#: As many rows as `infeed inspect` reads, spread evenly: a field of numbers may have a word in some row.
_ROWS = 256
_TOGETHER = 16
#: Most characters of a number; longer strings of digits are more likely text.
_NUMBER = 24
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_IMAGES = re.compile(
    rb"\xff\xd8\xff|\x89PNG\r\n\x1a\n|RIFF.{4}WEBP|GIF8[79]a|II[*+]\0|MM\0[*+]|BM.{4}\0{4}|P[1-7][ \t\r\n#]",
    re.DOTALL,
)
_WORDS = {"int", "float", "text", "json"}


def decoders_of(pipeline: Description) -> dict[str, str]:
    """The decoder of every encoded field. Fields that are neither images nor arrays nor text are left out."""
    refuse_what_is_read_once(pipeline, 'decode("auto")', ": name the decoders")
    plan = pipeline.plan
    encoded = [name for name, kind, _ in plan.fields if kind == "bytes"]
    seen: dict[str, Counter[str]] = {name: Counter() for name in encoded}
    for batch in sampled_rows(pipeline, _ROWS) if encoded else ():
        for name in encoded:
            seen[name].update(decoder_of(bytes(item)) for item in batch[name] if item is not None)
    found = {name: _chosen(counts) for name, counts in seen.items()}
    return {name: decoder for name, decoder in found.items() if decoder}


def refuse_what_is_read_once(pipeline: Description, what: str, cure: str = "") -> None:
    """Raise where the rows that are looked at would be lost to the reader."""
    once = [str(path) for path in _paths(pipeline.recipe) if path in ("-", "/dev/stdin") or Path(path).is_fifo()]
    rows = [getattr(given, "rows", None) for given in pipeline._given.values()]
    once += ["a generator" for item in rows if isinstance(item, Iterator)]
    if once:
        raise ValueError(f"{what} reads some rows, and {once[0]} can be read only once{cure}")


def _paths(recipe: Mapping[str, Any]) -> Iterator[str]:
    yield from recipe["source"].get("paths", ())
    for part in recipe["source"].get("part", ()):
        yield from _paths(part)


def sampled_rows(pipeline: Description, most: int) -> Iterator[Any]:
    """Batches of at most ``most`` rows, spread evenly; of a stream the first."""
    from ..doors.loader import Loader

    plan = pipeline.plan
    loader = Loader(pipeline, threads=1, prefetch=1, on_error="skip", rank=0, world_size=1)  # type: ignore[arg-type]
    with loader:
        if plan.is_stream:
            yield from itertools.islice(loader, most)
            return
        count = min(plan.rows, most)
        rows = [number * plan.rows // count for number in range(count)]
        yield from loader.over(rows[at : at + _TOGETHER] for at in range(0, count, _TOGETHER))


def decoder_of(data: bytes) -> str:
    """The decoder for these bytes; empty if none fits. Names are unreliable: many a PNG is called ``.jpg``."""
    if _IMAGES.match(data):
        return "rgb"
    if data.startswith(b"\x93NUMPY"):
        return "npy"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    short = text.strip()
    if len(short.encode()) <= _NUMBER:
        if _INTEGER.fullmatch(short) and -(2**63) <= int(short) < 2**63:
            return "int"
        if _FLOAT.fullmatch(short):
            return "float"
    if short.startswith(("{", "[")) and _is_json(short):
        return "json"
    if any(unicodedata.category(c) == "Cc" and c not in "\t\n\v\f\r\x85" for c in text):
        return ""
    return "text"


def _is_json(text: str) -> bool:
    def refuse(word: str) -> Any:
        raise ValueError(word)

    try:
        json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _chosen(counts: Counter[str]) -> str:
    """The decoder that suits most values. A field of numbers with a word among them is text."""
    if len(counts) > 1 and counts.keys() <= _WORDS:
        return "float" if counts.keys() <= {"int", "float"} else "text"
    return max(sorted(counts), key=lambda name: (counts[name], name), default="")
