"""The part of making a batch that runs in Python."""

from __future__ import annotations

import contextlib
import dataclasses
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _core
from .apply import Later, apply, bound, on_fields, returning
from .collate import New
from .layouts import FieldLayouts
from .seeds import ROW, Kept, seed_all
from .stage import Function, Prepared, takes_rng
from .values import each_value


@dataclasses.dataclass(slots=True, repr=False)
class Task:
    """One step: its rows, and the samples that the engine made of them."""

    epoch: int
    rows: list[int]
    columns: dict[str, Any]

    def __repr__(self) -> str:
        some = ", ".join(map(str, self.rows[:16]))
        return f"rows {some}{', ...' if len(self.rows) > 16 else ''} of epoch {self.epoch}"


@dataclasses.dataclass(slots=True)
class Failed:
    """The function that failed, and the row of the step it failed on."""

    at: int
    function: str
    error: BaseException
    trace: str


@dataclasses.dataclass(slots=True)
class Result:
    """A batch, or the failure that prevented it. ``kept`` has one entry per sample: the place in the step it is from."""

    value: Any
    kept: list[int] | None = None
    filtered: list[int] = dataclasses.field(default_factory=list)
    bad: list[tuple[int, str]] = dataclasses.field(default_factory=list)
    failed: Failed | None = None
    spent: int = 0


class _Stop(Exception):
    def __init__(self, failed: Failed) -> None:
        self.failed = failed


class Tail:
    """Fetches rows from wrapped objects, applies functions and collates samples.

    It is independent of threads and processes, and can be pickled to the process that runs it.
    """

    def __init__(
        self,
        functions: Sequence[Function],
        *,
        sources: Sequence[tuple[int, Any]] = (),
        encoded: Sequence[str] = (),
        seed: int = 0,
        skip_bad: bool = False,
        layouts: FieldLayouts | None = None,
        collate: Callable[[list[Any]], Any] | None = None,
        most: int | None = None,
    ) -> None:
        self.functions = tuple(functions)
        self.sources = list(sources)
        #: Fields that nothing decoded: functions get them as arrays of bytes, and a batch has them as ``bytes``.
        self.encoded = tuple(encoded)
        self.seed = seed
        self.skip_bad = skip_bad
        self.layouts = layouts or FieldLayouts()
        self.collate = collate
        #: The most bytes of an array that is padded.
        self.most = most
        self._calls: list[Prepared] | None = None
        # Global generators are seeded only for functions that may use them, i.e. have no parameter `rng`.
        asked = [f for f in functions if f.op in ("map", "filter", "flat_map", "map_batch")]
        self.seeds = bool(self.sources) or any(f.seeded and not takes_rng(f.call) for f in asked)

    def __reduce__(self) -> tuple[Any, ...]:
        keys = ("sources", "encoded", "seed", "skip_bad", "layouts", "collate", "most")
        return _tail, (self.functions, {key: getattr(self, key) for key in keys})

    def run(self, task: Task, new: New = np.empty, *, keep: bool = False) -> Result:
        """Make the batch of a step. With ``keep`` the state of the global generators is restored afterwards."""
        start = time.perf_counter_ns()
        with Kept() if keep and self.seeds else contextlib.nullcontext():
            result = self._run(task, new)
        result.spent = time.perf_counter_ns() - start
        return result

    def _run(self, task: Task, new: New) -> Result:
        if self._calls is None:
            self._calls = [f.prepared() for f in self.functions]
        out = Result(None)
        try:
            samples, kept = self._samples(task, out)
            out.kept = None if kept == list(range(len(task.rows))) else kept
            out.value = self._batch(task, samples, new) if samples else self._empty(task)
        except _Stop as stop:
            out.failed = stop.failed
        return out

    def _samples(self, task: Task, out: Result) -> tuple[list[Any], list[int]]:
        samples: list[Any] = []
        kept: list[int] = []
        fetched = self._fetch_many(task)
        for at, row in enumerate(task.rows):
            address = (self.seed, task.epoch, row)
            if self.seeds:
                self._seed(_core.random_at(*address, ROW))
            what = "the data set"
            try:
                values = [fetched[at] if fetched is not None else self._sample(task, at)]
                for function, prepared in self._on_samples():
                    what = function.name
                    values = [made for value in values for made in apply(function, prepared.call, value, address)]
                what = "batch"
                for value in values if self.collate is None else ():
                    if (misfit := self.layouts.misfit(value)) is not None:
                        raise ValueError(misfit)
            except Exception as error:
                if not self.skip_bad:
                    raise _Stop(Failed(at, what, error, traceback.format_exc())) from None
                out.bad.append((row, f"{what}: {type(error).__name__}: {error}"))
                continue
            if not values:
                out.filtered.append(row)
            samples += values
            kept += [at] * len(values)
        return samples, kept

    def _on_samples(self) -> Iterator[tuple[Function, Prepared]]:
        """The functions that see single samples; the others see batches."""
        pairs = zip(self.functions, self._calls or (), strict=True)
        return (pair for pair in pairs if pair[0].op not in ("map_batch", "tuple"))

    def _seed(self, number: int) -> None:
        seed_all(number)
        for prepared in self._calls or ():
            if prepared.seed is not None:
                prepared.seed(number)

    def _empty(self, task: Task) -> Any:
        """A batch without samples that has the structure of a batch with samples: the structure is that of the first row,
        with filters ignored.
        """
        try:
            value = self._sample(task, 0)
            for function, prepared in self._on_samples():
                if function.op != "filter":
                    value = apply(function, prepared.call, value, (self.seed, task.epoch, task.rows[0]))[0]
            return self.layouts.emptied(nothing_of(self._batch(task, [value], np.empty)))
        except (_Stop, Exception):
            return {}

    def _fetch_many(self, task: Task) -> list[Any] | None:
        """Fetch a whole batch with one call, from data sets that support it."""
        if len(self.sources) != 1 or not hasattr(self.sources[0][1], "__getitems__"):
            return None
        if self.seeds:
            self._seed(_core.random_at(self.seed, task.epoch, task.rows[0], ROW))
        try:
            found = list(self.sources[0][1].__getitems__(list(task.rows)))
        except Exception as error:
            raise _Stop(Failed(0, "__getitems__", error, traceback.format_exc())) from None
        if len(found) != len(task.rows):
            short = ValueError(f"__getitems__ gave {len(found)} samples for {len(task.rows)} rows")
            raise _Stop(Failed(0, "__getitems__", short, ""))
        return found

    def _sample(self, task: Task, at: int) -> Any:
        if not self.sources:
            return {name: column[at] for name, column in task.columns.items()}
        row = task.rows[at]
        for count, source in self.sources:
            if row < count:
                return source[row]
            row -= count
        raise IndexError(f"no data set has the row {task.rows[at]}")

    def _with_bytes(self, task: Task, samples: list[Any]) -> list[Any]:
        """The samples with encoded fields as ``bytes``. Arrays of bytes would be stacked when they have one length, and
        look like numbers. Only what the functions left as it was: their own arrays are what they want them to be.
        """
        given = {id(item) for name in self.encoded for item in task.columns.get(name, ())}
        if not given:
            return samples

        def plain(value: Any) -> Any:
            return value.tobytes() if id(value) in given and value is not None else value

        return [each_value(sample, plain) for sample in samples]

    def _batch(self, task: Task, samples: list[Any], new: New) -> Any:
        what = "collate"
        try:
            if self.collate is not None:
                value = self.collate(samples)
            else:
                value = self.layouts.batch(self._with_bytes(task, samples), new, self.most)
            for function, prepared in zip(self.functions, self._calls or (), strict=True):
                what, call = function.name, prepared.call
                if function.op == "tuple":
                    value = tuple(value[name] for name in function.call)
                elif function.op == "map_batch":
                    rng = Later((self.seed, task.epoch, task.rows[0], function.number))
                    whole = returning(bound(call, rng), "batch")
                    value = on_fields(value, function.on, whole) if function.on else whole(value)
        except Exception as error:
            raise _Stop(Failed(0, what, error, traceback.format_exc())) from None
        return value


def nothing_of(value: Any) -> Any:
    """The same structure with no samples in it."""
    if isinstance(value, Mapping):
        return {key: nothing_of(item) for key, item in value.items()}
    if isinstance(value, tuple):
        made = [nothing_of(item) for item in value]
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    return value[:0] if isinstance(value, list | np.ndarray) or hasattr(value, "detach") else value


def _tail(functions: tuple[Function, ...], options: dict[str, Any]) -> Tail:
    return Tail(functions, **options)
