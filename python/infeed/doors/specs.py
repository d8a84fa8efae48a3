"""The specs of the fields of a batch, for doors that must declare them before the first batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..batch import Batch
from ..functions.layouts import FieldLayouts
from .loader import Loader
from .memory import bfloat16

if TYPE_CHECKING:
    from ..pipeline import Pipeline

_LISTS = ("text", "json", "bytes")
_TRIES = 16


@dataclass(frozen=True)
class Spec:
    """One field: ``kind`` is ``"array"``, ``"text"``, ``"json"`` or ``"bytes"``; ``shape`` is that of a sample, with
    ``None`` where it varies. ``layout`` says how samples are laid out in a batch, as ``plan.layouts`` does."""

    name: str
    kind: str
    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]
    layout: str = "list"

    @property
    def varies(self) -> bool:
        """Whether samples differ in shape."""
        return None in self.shape


class Fields(NamedTuple):
    """The fields that a batch hands out, in order, and whether it is a tuple of them."""

    specs: list[Spec]
    as_tuple: bool


def specs(pipeline: Pipeline) -> Fields:
    """The fields of a batch.

    What only the data can tell (dtype and rank of an ``npy``, results of a Python function) is learned from the first
    rows. Streams are not read for this: their fields are what the plan says.
    """
    plan = pipeline.plan
    how = layouts(pipeline)
    known = {
        name: Spec(name, kind if kind in _LISTS else "array", _dtype(dtype), tuple(shape), how[name])
        for (name, kind, dtype), shape in zip(plan.fields, plan.shapes, strict=True)
    }
    names = list(known) if plan.tuple is None else list(plan.tuple)
    said = Fields([known[name] for name in names], plan.tuple is not None)
    if plan.is_stream or not plan.places:
        return said
    loader = Loader(
        pipeline,
        threads=1,
        io_threads=1,
        prefetch=1,
        on_error="skip",
        rank=0,
        world_size=1,
        workers="consumer",
    )
    rows = plan.order(0, 0, min(plan.places, _TRIES))
    with loader:
        # A row that is bad or filtered gives an empty batch.
        seen = (batch for batch in loader.over([row] for row in rows) if _there(batch))
        if pipeline._runs_python:
            return _made_in_python(list(seen), how)
        for batch in seen:
            columns = batch if isinstance(batch, Batch) else dict(zip(names, batch, strict=True))
            return Fields([_settle(name, known.get(name), column) for name, column in columns.items()], said.as_tuple)
    return said


def layouts(pipeline: Pipeline) -> dict[str, str]:
    """How the columns of a batch are laid out, by name."""
    plan = pipeline.plan
    out = dict(zip((name for name, _, _ in plan.fields), plan.layouts, strict=True))
    if not pipeline._runs_python:
        return out
    # Functions may make further fields, and change those that the engine made.
    said: FieldLayouts = pipeline._collation["layouts"]
    named = said.ragged if isinstance(said.ragged, Mapping) else {}
    out = {**out, **{name: said.how(name) for name in (*out, *named) if out.get(name) not in ("mask", "offsets")}}
    out |= {f"{name}_offsets": "offsets" for name, how in list(out.items()) if how == "flat"}
    return out | dict.fromkeys(said.masks.values(), "mask") | {"": said.how("")}


def _columns(batch: Any) -> dict[str, Any]:
    return dict(batch) if isinstance(batch, Batch) else {str(i): column for i, column in enumerate(batch)}


def _there(batch: Any) -> bool:
    return isinstance(batch, Batch | tuple) and all(
        hasattr(c, "__len__") and len(c) for c in _columns(batch).values()
    )


def _made_in_python(batches: list[Any], how: dict[str, str]) -> Fields:
    """Specs of the results of functions, derived from the first rows: an axis whose size differs between them varies."""
    if not batches:
        raise TypeError(
            "the fields of a batch cannot be derived from the first rows: Python functions dropped them all, or samples"
            " are neither dicts nor tuples"
        )
    out = []
    for name in _columns(batches[0]):
        found = [_settle(name, None, _columns(batch)[name]) for batch in batches]
        shapes = {spec.shape for spec in found}
        if len({(spec.kind, spec.dtype, len(spec.shape)) for spec in found}) > 1:
            raise TypeError(f"the field {name!r} has different types in different rows, and a column has one type")
        shape = tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes, strict=True))
        out.append(Spec(name, found[0].kind, found[0].dtype, shape, how.get(name, how[""])))
    return Fields(out, isinstance(batches[0], tuple))


def _settle(name: str, known: Spec | None, column: Any) -> Spec:
    """The spec of the plan, corrected by a sample."""
    if known is not None and known.kind in _LISTS:
        return known
    item = column[0]
    if item is None:
        if known is None:
            raise TypeError(f"the type of the field {name!r} is unknown: the first row has no value for it")
        return known
    if isinstance(item, str | bytes):
        return Spec(name, "text" if isinstance(item, str) else "bytes", _dtype("u8"), (None,))
    seen = np.asarray(item)
    if known is None:
        return Spec(name, "array", seen.dtype, seen.shape)
    if len(known.shape) != seen.ndim:
        return Spec(name, "array", seen.dtype, (None,) * seen.ndim, known.layout)
    shape = tuple(size if size == there else None for size, there in zip(known.shape, seen.shape, strict=True))
    return Spec(name, "array", seen.dtype, shape, known.layout)


def _dtype(name: str) -> np.dtype[Any]:
    kind = bfloat16() if name == "bf16" else bool if name == "bool" else f"{name[0]}{int(name[1:]) // 8}"
    out: np.dtype[Any] = np.dtype(kind)
    return out
