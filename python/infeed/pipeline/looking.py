"""Looking at samples without opening a door: ``peek``, ``pipeline[5]``, ``fields``."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, overload

from ..recipes import whole
from ..reports import Field, Fields
from .order import OrderStages
from .sights import Sight, sights_of

if TYPE_CHECKING:
    from ..batch import Batch, Sample
    from ..doors.loader import Loader
    from .core import Pipeline

#: NumPy's names of the element types.
_NAMES = {"bool": "bool", "bf16": "bfloat16"}
_WORDS = {"u": "uint", "i": "int", "f": "float"}
#: Rows that are tried for each sample wanted, where filters leave rows out.
_TRIES = 64
_SHOWN = 4


class Looks(OrderStages):
    """What :class:`~infeed.Pipeline` shows of its samples."""

    def peek(self, n: int = 4) -> Batch:
        """The first ``n`` samples of epoch 0, finished, as one batch of NumPy arrays: for looking, not for training.

        Batches that are tuples have names here: those of :meth:`to_tuple`, otherwise ``"0"``, ``"1"`` and so on. What a
        ``collate`` function makes otherwise is the field ``"value"``. Streams are opened anew for it.
        """
        from ..batch import Batch

        whole("n", n)
        found = _first(self, n) if n else None
        made = Batch() if found is None else found if isinstance(found, Batch) else Batch(_named(self, found))
        made._sights = self._sights
        return made

    @property
    def _sights(self) -> dict[str, Sight]:
        """How the fields of batches are drawn, by name."""
        return sights_of(self)

    @property
    def fields(self) -> Fields:
        """Name, kind, type and shape of every field of a batch. Opens the data but reads no sample.

        What Python functions make of the fields is not known before they run.
        """
        plan = self.plan
        columns = zip(plan.fields, plan.shapes, plan.layouts, strict=True)
        found = {
            name: Field(name, kind, _dtype(dtype), tuple(shape), layout)
            for (name, kind, dtype), shape, layout in columns
        }
        names = list(found) if plan.tuple is None else list(plan.tuple)
        note = "Python functions run after this: peek() shows what they make" if self._runs_python else ""
        if not note and any(field.kind == "bytes" for field in found.values()):
            note = 'bytes are as they are stored: decode("auto") decodes them'
        return Fields({name: found[name] for name in names}, note)

    @overload
    def __getitem__(self, which: slice) -> Self: ...
    @overload
    def __getitem__(self, which: SupportsIndex) -> Sample: ...
    def __getitem__(self, which: Any) -> Any:
        """``pipeline[:1000]`` keeps those rows; ``pipeline[5]`` is one finished sample, a dict, for a look.

        Samples are counted in the order of epoch 0, and negative numbers count from the end. A sample is what there is
        before :meth:`batch`: neither collated nor padded nor mixed with others. Where a function makes several samples of
        a row, it is the first of them.
        """
        if isinstance(which, slice):
            return self.subset(which)
        try:
            number = operator.index(which)
        except TypeError:
            raise TypeError(
                "a pipeline takes a number, pipeline[5], or a slice, pipeline[:1000]; subset([...]) takes indices"
            ) from None
        return _sample(self, number)

    def _repr_html_(self) -> str:
        from ..show.page import fields_page, fragment, plain

        title = f"<p>{plain(repr(self), 200)}</p>"
        try:
            fields = self.fields
            count = "a stream" if self.plan.is_stream else f"{len(self):,} rows"
            title += f"<p><b>{plain(count, 80)}</b></p>"
            # A look at a description must neither run functions of the user nor start commands.
            shows = not (self._runs_python or self.plan.is_stream) and len(self)
            return fields_page(fields, title, fragment(self.peek(_SHOWN)) if shows else "")
        except Exception as error:
            return f"{title}<p>{plain(f'{type(error).__name__}: {error}', 1000)}</p>"


def _dtype(name: str) -> str:
    return _NAMES.get(name) or _WORDS[name[0]] + name[1:]


def _loader(pipeline: Any) -> Loader:
    """A loader that makes a few samples, with little of its own."""
    from ..doors.loader import Loader

    return Loader(pipeline, threads=2, io_threads=1, prefetch=1, rank=0, world_size=1, workers="consumer")


def _first(pipeline: Looks, n: int) -> Any:
    plan = pipeline.plan
    if plan.is_stream:
        from .guess import refuse_what_is_read_once

        refuse_what_is_read_once(pipeline, "peek()")
        with _loader(_in_batches(pipeline, n)) as loader:
            loader._tuple = None
            return next(iter(loader), None)
    if not plan.places:
        return None
    with _loader(pipeline) as loader:
        # Batches of the engine have names, whatever the door would do.
        loader._tuple = None
        rows = plan.order(0, 0, min(n, plan.places))
        found = next(loader.over([rows]), None)
        if len(rows) < plan.places and _count(found) < len(rows):
            # Filters left rows out: look for as many that stay.
            rows = plan.order(0, 0, min(n * _TRIES, plan.places))
            stay = (row for row, one in zip(rows, loader.over([row] for row in rows), strict=False) if _count(one))
            kept = [row for row, _ in zip(stay, range(n), strict=False)]
            found = next(loader.over([kept]), None) if kept else found
    return found


def _count(found: Any) -> int:
    from ..show.samples import count_of

    if isinstance(found, Mapping):
        return count_of(found)
    return count_of({str(at): column for at, column in enumerate(found)}) if isinstance(found, tuple | list) else 1


def _in_batches(pipeline: Looks, n: int) -> Looks:
    """The pipeline with batches of ``n``."""
    recipe = pipeline.recipe
    for stage in recipe["stage"]:
        if stage["op"] == "batch":
            stage.pop("global_size", None)
            stage.update(size=n, last="short")
            return type(pipeline)(recipe, pipeline._given, pipeline._functions, pipeline._collate)
    return pipeline._then(op="batch", size=n, last="short")


def _named(pipeline: Looks, found: Any) -> dict[str, Any]:
    """A batch that is no dict, with names."""
    if isinstance(found, Mapping):
        return dict(found)
    if not isinstance(found, tuple | list):
        return {"value": found}
    names: Sequence[str] | None = pipeline.plan.tuple
    for function in pipeline._functions:
        if function.op == "tuple":
            names = function.call
    if names is None or len(names) != len(found):
        names = getattr(found, "_fields", None) or [str(at) for at in range(len(found))]
    return dict(zip(names, found, strict=True))


def _sample(pipeline: Looks, number: int) -> Sample:
    from ..batch import Batch, Sample
    from ..show.samples import sample_at

    plan = pipeline.plan
    if plan.is_stream:
        raise TypeError(
            "a stream has no rows to look up by number: it is read from front to back. peek() gives its first samples"
        )
    place = number if number >= 0 else number + plan.places
    if not 0 <= place < plan.places:
        raise IndexError(f"there is no row {number}: the pipeline has {plan.places} rows")
    row = plan.order(0, place, place + 1)[0]
    single, names = _without_batches(pipeline)
    with _loader(single) as loader:
        batch = next(loader.over([[row]]), None)
    if batch is None or not _count(batch):
        raise ValueError(f"the sample {number} is left out by a filter or a function (row {row} of the files)")
    fields = sample_at(batch if isinstance(batch, Mapping) else _named(single, batch), 0)
    out = Sample(fields if names is None else {name: fields[name] for name in names})
    out._from = (batch, 0) if isinstance(batch, Batch) and batch._core is not None else None
    out._sights = single._sights
    return out


def _without_batches(pipeline: Looks) -> tuple[Pipeline, Sequence[str] | None]:
    """The pipeline up to its samples, and the fields that it hands out, if it says so."""
    stages: list[dict[str, Any]] = []
    functions = []
    names: Sequence[str] | None = None
    left = list(pipeline._functions)
    size = next((stage.get("size") for stage in pipeline.recipe["stage"] if stage["op"] == "batch"), None)
    for stage in pipeline.recipe["stage"]:
        if stage["op"] == "python":
            function = left.pop(0)
            if function.op == "tuple":
                names = function.call
            elif function.op != "map_batch":
                stages.append(stage)
                functions.append(function)
        elif stage["op"] == "tuple":
            names = stage["fields"]
        elif stage["op"] == "by_length":
            # Groups are as large as batches unless it is said.
            stages.append({"group": size or 1, **stage})
        elif stage["op"] not in ("batch", "map_batch"):
            stages.append(stage)
    if names is not None and not pipeline._runs_python:
        stages.append({"op": "select", "fields": list(names)})
    out: Any = type(pipeline)({**pipeline.recipe, "stage": stages}, pipeline._given, functions)
    return out, names
