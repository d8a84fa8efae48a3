"""Loaders: pipelines in motion. This module is the NumPy door; the others build on it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core

if TYPE_CHECKING:
    from .pipeline import Pipeline

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


class Stats(dict[str, Any]):
    """What a loader has done so far: a dict of numbers that prints as a small table."""

    def __init__(self, numbers: dict[str, Any], text: str) -> None:
        super().__init__(numbers)
        self._text = text

    def __str__(self) -> str:
        return self._text


class Batch(dict[str, Any]):
    """A batch: a dict of arrays. It also knows where its samples came from.

    ``batch["__key__"]``, ``batch["__row__"]`` and ``batch["__url__"]`` give key, row number and shard of each sample;
    they are worked out when asked for.
    """

    __slots__ = ("_core",)

    _core: _core.Batch

    def __missing__(self, name: str) -> Any:
        if name == "__key__":
            return self._core.keys()
        if name == "__row__":
            return np.asarray(self._core.rows(), dtype=np.int64)
        if name == "__url__":
            return self._core.shards()
        raise KeyError(f"there is no field {name!r}; the fields are {', '.join(self)}")


class Loader:
    """Gives batches, epoch after epoch: each ``iter(loader)`` starts the next one.

    Options, all of them with good defaults and none of them changing which batches come:

    * ``threads``: CPU workers (default: the CPUs this process may use)
    * ``io_threads``: threads that read
    * ``prefetch``: batches in the making ahead of you
    * ``memory``: ceiling for batches and look-ahead, in bytes or as ``"2GB"``
    * ``on_error``: ``"raise"``, ``"skip"`` (the batch gets shorter) or ``"replace"`` (another row takes its place)
    * ``error_limit``: how many bad samples are too many
    * ``epoch``: the first epoch
    """

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        threads: int | None = None,
        io_threads: int | None = None,
        prefetch: int | None = None,
        memory: int | str | None = None,
        on_error: str = "raise",
        error_limit: int = 1000,
        epoch: int = 0,
    ) -> None:
        self.pipeline = pipeline
        self._options: dict[str, Any] = {
            "threads": threads,
            "io_threads": io_threads,
            "prefetch": prefetch,
            "memory": _bytes(memory),
            "on_error": on_error,
            "error_limit": error_limit,
        }
        plan = pipeline.plan
        self._core = _core.Loader(plan, epoch=epoch, **self._options)
        self._length = plan.batches(0)
        self._tuple = plan.tuple
        self._kinds = {name: kind for name, kind, _ in plan.fields}
        self._runs: list[_core.Run] = []

    def __len__(self) -> int:
        return self._length

    @property
    def epoch(self) -> int:
        """The epoch that the next iteration runs."""
        return self._core.epoch

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch that the next iteration runs. Without it epochs follow each other."""
        self._core.set_epoch(epoch)

    def __iter__(self) -> Iterator[Any]:
        run = self._core.start()
        self._runs.append(run)
        return self._batches(run)

    def _batches(self, run: _core.Run) -> Iterator[Any]:
        try:
            while (batch := run.next()) is not None:
                yield self._hand_out(batch)
        finally:
            # Also reached by `break`, an exception in the loop's body and garbage collection.
            run.close()
            if run in self._runs:
                self._runs.remove(run)

    def _hand_out(self, batch: _core.Batch) -> Any:
        if self._tuple is not None:
            return tuple(self._convert(batch.column(name), self._kinds[name]) for name in self._tuple)
        out = Batch()
        out._core = batch
        for name, kind in self._kinds.items():
            out[name] = self._convert(batch.column(name), kind)
        return out

    def _convert(self, column: Any, kind: str) -> Any:
        if isinstance(column, list):
            if kind == "json":
                return [None if item is None else json.loads(item) for item in column]
            if kind == "text":
                return column
            return [None if item is None else self._array(item) for item in column]
        return self._array(column)

    def _array(self, array: _core.Array) -> Any:
        out = np.asarray(array)
        return out.view(_bfloat16()) if array.dtype == "bf16" else out

    def stats(self) -> Stats:
        """Rates, waits, the stage that holds the loader back, and the bad samples so far."""
        return Stats(json.loads(self._core.stats_json()), self._core.stats_text())

    def explain(self) -> str:
        """The pipeline in words."""
        return self.pipeline.explain()

    def close(self) -> None:
        """Stop every iteration under way. Happens by itself when a loop ends, however it ends."""
        for run in self._runs:
            run.close()
        self._runs.clear()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        # A loader travels to another process as its pipeline and options; it starts where this one would go on.
        return _rebuild, (type(self), self.pipeline, {**self._options, "epoch": self.epoch})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.pipeline!r}, {self._length} batches per epoch>"


def _rebuild(kind: type[Loader], pipeline: Pipeline, options: dict[str, Any]) -> Loader:
    return kind(pipeline, **options)


def _bfloat16() -> Any:
    try:
        import ml_dtypes
    except ImportError:
        raise ImportError('NumPy has no bfloat16 of its own: install "ml_dtypes", or use to_torch()') from None
    return ml_dtypes.bfloat16


def _bytes(memory: int | str | None) -> int | None:
    if not isinstance(memory, str):
        return memory
    text = memory.strip().upper()
    number = text.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ ")
    unit = text[len(number) :].strip()
    try:
        return int(float(number) * _UNITS[unit])
    except (ValueError, KeyError):
        raise ValueError(f'memory must be a number of bytes or text like "2GB", got {memory!r}') from None
