"""What ``infeed inspect`` tells of a data set, as rows of tables."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..pipeline.guess import decoders_of, sampled_rows
from ..reports import Fields
from .values import is_array, shape_of
from .words import cut

if TYPE_CHECKING:
    from ..pipeline import Pipeline

_CLASSES = 8
_HEADER = ["field", "type", "shape", "stored as", "in rows", "min", "mean", "max", "images"]


@dataclasses.dataclass(slots=True)
class Facts:
    """Facts about a data set (name, value), and a table of its fields. ``note`` says which rows could not be read."""

    facts: list[list[str]]
    header: list[str]
    fields: list[list[str]]
    note: str = ""

    def text(self) -> str:
        """The tables for a terminal."""
        note = [f"  {self.note}"] if self.note else []
        return "\n".join([*_aligned(self.facts), "", "Fields", *_aligned([self.header, *self.fields], "  "), *note])


class CommandError(Exception):
    """The command has printed what is wrong; its exit status is the argument."""


def surveyed(paths: Sequence[str], decoded: Fields, *, format: str, sample: int) -> Facts:
    """The facts that ``infeed inspect`` finds, with the types and shapes that fields have when they are decoded."""
    # Another process: the command writes to the standard output of its own.
    args = ["inspect", "--json", "--rows", "0", "--sample", str(sample), "--format", format, "--", *paths]
    done = subprocess.run([sys.executable, "-m", "infeed", *args], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise CommandError(done.returncode)
    told = json.loads(done.stdout)
    facts = [["format", told["format"]]]
    facts.append(["rows", f"{'' if told['rows_exact'] else 'more than '}{told['rows']:,}"])
    if told["shards"] > 1:
        facts.append(["shards", f"{told['shards']:,}"])
    facts.append(["bytes", f"{'' if told['bytes_exact'] else 'about '}{size_words(told['bytes'])}"])
    facts += [*_classes(told["classes"]), *_decode_with(told["decode"])]
    lines = []
    for field in told["fields"]:
        name, kinds, sizes = field["name"], Counter(field["kinds"]), field["bytes"]
        holds = " ".join(kinds) if len(kinds) < 2 else ", ".join(f"{kind} {n}" for kind, n in kinds.most_common())
        holds = holds if "bytes" in field["stored"] else ""
        spans = [size_words(sizes[which]) for which in ("min", "mean", "max")]
        seen = f"{field['present']}/{told['sampled_rows']}"
        lines.append([name, *_type_and_shape(decoded, name), holds, seen, *spans, _images(field["images"])])
    lost = told["unreadable_rows"]
    note = f"{lost:,} rows could not be read; the first: {told['first_error']}" if lost else ""
    return _facts(facts, lines, note)


def planned(pipeline: Pipeline, decoded: Fields, chosen: Mapping[str, str], *, format: str, sample: int) -> Facts:
    """The facts of a data set that only a pipeline can open, because its format needs arguments."""
    plan = pipeline.plan
    facts = [["format", format], ["source", pipeline.explain().splitlines()[0].removeprefix("source").strip()]]
    facts.append(["rows", "a stream" if plan.is_stream else f"{plan.rows:,}"])
    facts += [*_classes(plan.classes), *_decode_with(chosen)]
    stored = pipeline.fields
    sizes: dict[str, list[int]] = {name: [] for name in stored}
    rows = 0
    for batch in sampled_rows(pipeline, sample):
        columns = {name: batch[name] for name in stored}
        rows += max((len(column) for column in columns.values()), default=0)
        for name, column in columns.items():
            sizes[name] += [_size(item) for item in column if item is not None]
    lines = []
    for name, seen in sizes.items():
        spans = [min(seen), sum(seen) // len(seen), max(seen)] if seen else [0, 0, 0]
        holds = "bytes" if stored[name].kind == "bytes" else ""
        counted = [f"{len(seen)}/{rows}", *(size_words(size) for size in spans)]
        lines.append([name, *_type_and_shape(decoded, name), holds, *counted, ""])
    return _facts(facts, lines)


def _facts(facts: list[list[str]], fields: list[list[str]], note: str = "") -> Facts:
    """Facts without the columns that have nothing in them."""
    kept = [at for at in range(len(_HEADER)) if any(line[at] for line in fields) or at == 0]
    return Facts(facts, [_HEADER[at] for at in kept], [[line[at] for at in kept] for line in fields], note)


def size_words(size: float) -> str:
    """A number of bytes: ``1.5 MB``, in decimal units."""
    for unit in ("B", "KB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 99.5 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def decoders(pipeline: Pipeline, format: str) -> dict[str, str]:
    """The decoder of every encoded field, as ``decode("auto")`` chooses it, and masks as masks."""
    found = decoders_of(pipeline)
    # The outlines of COCO look like any other JSON.
    return {**found, "masks": "instance_masks"} if format == "coco" and "masks" in found else found


def _decode_with(chosen: Mapping[str, str]) -> list[list[str]]:
    return [["decode with", ", ".join(f'{name}="{by}"' for name, by in chosen.items())]] if chosen else []


def _classes(names: Sequence[str]) -> list[list[str]]:
    names = [name for name in names if name]  # the ids of COCO have gaps
    more = ", ..." if len(names) > _CLASSES else ""
    first = ", ".join(cut(name, 24) for name in names[:_CLASSES])
    return [["classes", f"{len(names):,}: {first}{more}"]] if names else []


def _type_and_shape(fields: Fields, name: str) -> list[str]:
    """The type and the shape of one sample."""
    if name not in fields:
        return ["", ""]
    field = fields[name]
    shape = () if field.type == field.kind else field.shape
    return [field.type, " x ".join("?" if size is None else str(size) for size in shape)]


def _images(span: Any) -> str:
    if not span:
        return ""
    (thin, wide), (low, high) = span["width"], span["height"]
    small, large = f"{thin}x{low}", f"{wide}x{high}"
    return small if small == large else f"{small} to {large}"


def _size(value: Any) -> int:
    """The bytes of a value as it is stored."""
    if is_array(value):
        count = 1
        for size in shape_of(value):
            count *= size
        return count * int(value.dtype.itemsize)
    return len(value.encode()) if isinstance(value, str) else len(value) if isinstance(value, bytes) else 8


def _aligned(rows: list[list[str]], indent: str = "") -> list[str]:
    wide = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    cells = ((cell.ljust(width) for cell, width in zip(row, wide, strict=True)) for row in rows)
    return [(indent + "  ".join(row)).rstrip() for row in cells]
