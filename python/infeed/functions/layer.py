"""The Python part of a loader: turns the batches of the engine into those that the consumer gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._typing import OnDeadWorker, OnError, Priority, Workers
from ..launch import World
from .runners import runner
from .stage import Function
from .tail import Failed, Result, Tail, Task

if TYPE_CHECKING:
    from ..batch import GivenRun, Made
    from ..doors.loader import Loader
    from ..pipeline import Pipeline


class Layer:
    """Runs the functions of a pipeline on the batches of a run."""

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        world: World,
        workers: Workers,
        num_workers: int | None,
        context: Any,
        on_dead_worker: OnDeadWorker,
        on_error: OnError,
        chaos: int | None = None,
        feeds_device: bool = False,
        priority: Priority | None = None,
    ) -> None:
        if on_error == "replace":
            raise ValueError(
                'on_error="replace" works on what infeed decodes; with Python functions use "skip" or "raise"'
            )
        plan = pipeline.plan
        # Either every source has fields or none has: joins check that.
        wrapped = [] if plan.fields else [(rows, pipeline._given[name].object) for name, rows in plan.leaves]
        functions = pipeline._functions
        if plan.tuple is not None:
            # to_tuple() came before the first function, so it is a stage of the recipe.
            functions = (Function("tuple", tuple(plan.tuple)), *functions)
        self.tail = Tail(
            functions,
            sources=wrapped,
            encoded=[name for name, kind, _ in plan.fields if kind == "bytes"],
            seed=plan.seed,
            skip_bad=on_error == "skip",
            **pipeline._collation,
        )
        self.workers = workers
        number = _default_workers(world, feeds_device) if num_workers is None else num_workers
        # Threads are not lowered: one that holds the GIL would keep the training thread waiting.
        low = priority == "low" or (priority is None and feeds_device)
        self.runner = runner(self.tail, workers, number, context, on_dead_worker, chaos, low=low)
        self.spent = 0

    def made(self, loader: Loader, run: _core.Run | GivenRun) -> Iterator[Made]:
        """The batches of a run, in order."""
        from ..batch import Made

        for batch, result in self.runner.results(_Steps(loader, run)):
            self.spent += result.spent
            if result.failed is not None:
                raise _told(result.failed, batch, self.workers == "processes")
            yield Made(self._present(loader, batch, result), result.filtered, result.bad)

    def _present(self, loader: Loader, batch: _core.Batch, result: Result) -> Any:
        from ..batch import Batch

        value = _each(loader._arranged(result.value), loader._leaf, loader._item)
        if isinstance(value, dict):
            value = Batch(value)
            value._core, value._kept, value._sights = batch, result.kept, loader._sights
        return loader._whole(value, batch)

    def stats(self, seconds: float) -> tuple[dict[str, Any], str]:
        """How busy the workers that run the functions were: numbers, and a line of text."""
        count = self.runner.workers
        share = min(1.0, self.spent / 1e9 / max(seconds * count, 1e-9))
        numbers = {"workers": self.workers, "count": count, "busy": share}
        who = {"threads": f"{count} threads", "processes": f"{count} processes"}.get(self.workers, "the consumer")
        return numbers, f"python functions: {100 * share:.0f} % of {who}"

    def close(self) -> None:
        """Release threads and processes."""
        self.runner.close()


def _default_workers(world: World, feeds_device: bool) -> int:
    cpus = max(1, _core.usable_cpus() // max(1, world.local_size))
    return cpus - _core.left_for_training(cpus) if feeds_device else cpus


class _Steps:
    """The batches of a run as tasks."""

    def __init__(self, loader: Loader, run: _core.Run | GivenRun) -> None:
        self.loader, self.run = loader, run

    def ready(self) -> bool:
        """Whether the engine has a batch ready."""
        return self.run.ready()

    def take(self) -> tuple[_core.Batch, Task] | None:
        """The next batch and its task, or None at the end."""
        batch = self.run.take()
        if batch is None:
            return None
        return batch, Task(batch.epoch, batch.rows(), self.loader._numpy_columns(batch))


def _told(failed: Failed, batch: _core.Batch, elsewhere: bool) -> BaseException:
    """The user's own exception, with a note that says where it happened."""
    error = failed.error
    row, key, shard = batch.rows()[failed.at], batch.keys()[failed.at], batch.shards()[failed.at]
    named = "" if key == str(row) else f", key {key!r}"
    error.add_note(f"{failed.function} failed on shard {shard!r}, row {row}{named}")
    if isinstance(error, ValueError) and "read-only" in str(error):
        error.add_note("Arrays of varying shape share memory with their shard: copy before writing, x = x.copy()")
    if elsewhere and failed.trace:
        error.add_note("In the worker process:\n" + failed.trace.rstrip())
    return error


def _each(value: Any, change: Any, change_item: Any) -> Any:
    """Convert every array of a batch, and every array in its lists; keep the structure."""
    if isinstance(value, Mapping):
        return {key: _each(item, change, change_item) for key, item in value.items()}
    if isinstance(value, tuple):
        made = [_each(item, change, change_item) for item in value]
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    if isinstance(value, list):
        return [
            change_item(item) if isinstance(item, np.ndarray) or hasattr(item, "detach") else item for item in value
        ]
    return change(value)
