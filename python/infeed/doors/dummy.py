"""Dummy batches that cost nothing: they show how fast training could be if loading were free."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from .loader import Loader
    from .slowing import StepTimes

_TYPES = {"bool": "?", "f16": "f2", "f32": "f4", "f64": "f8"} | {
    f"{sign}{8 * size}": f"{sign}{size}" for sign in "iu" for size in (1, 2, 4, 8)
}


class Dummy:
    """One batch, handed out again and again. See :meth:`infeed.Loader.dummy`."""

    def __init__(self, batch: Any, steps: int | None, times: StepTimes) -> None:
        self.batch = batch
        self._steps = steps
        self._times = times

    def __len__(self) -> int:
        if self._steps is None:
            raise TypeError("endless dummy batches have no length")
        return self._steps

    def __iter__(self) -> Iterator[Any]:
        now, times = time.perf_counter_ns, self._times
        for _ in itertools.count() if self._steps is None else range(self._steps):
            given = now()
            yield self.batch
            times.add(now() - given)

    def __repr__(self) -> str:
        return f"<Dummy, {'without end' if self._steps is None else f'{self._steps} batches'}>"


def made_up(loader: Loader) -> Any:
    """A dummy batch of the structure that the loader gives."""
    from ..batch import Batch

    plan = loader.pipeline.plan
    size = batch_size(loader)
    specs = zip(plan.fields, plan.shapes, strict=True)
    shapes = {name: (dtype, (size, *shape)) for (name, kind, dtype), shape in specs if kind in ("image", "array")}
    varies = "flat" in plan.layouts or any(None in shape for _, shape in shapes.values())
    names = plan.tuple or [name for name, _, _ in plan.fields]
    if size is None or varies or loader.pipeline._runs_python or any(name not in shapes for name in names):
        return _real(loader, size or 1)
    fields = {name: loader._dummy_array(name, *shapes[name]) for name in names}  # type: ignore[arg-type]
    batch: Any = tuple(fields.values()) if plan.tuple is not None else Batch(fields)
    return loader._dummy_placed(batch)


def batch_size(loader: Loader) -> int | None:
    """The number of samples in a batch of this rank; None where the pipeline does not say."""
    for stage in reversed(loader.pipeline.recipe["stage"]):
        if stage["op"] == "batch":
            size: int = stage.get("size") or max(stage["global_size"] // loader.world.size, 1)
            return size
    return None


def _real(loader: Loader, size: int) -> Any:
    """A batch of the first rows. The position of the loader does not change."""
    plan = loader.pipeline.plan
    if plan.is_stream:
        options = {**loader._options, "rank": loader.world.rank, "world_size": loader.world.size}
        with type(loader)(loader.pipeline, **options) as other:
            found = next(iter(other), None)
    else:
        rows = itertools.islice(itertools.cycle(range(plan.rows)), size)
        found = next(loader.over([list(rows)]), None)
    if found is None:
        raise ValueError("there are no rows to make batches of")
    return found


def random_array(dtype: str, shape: tuple[int, ...], *, image: bool) -> npt.NDArray[Any]:
    """Values that any model accepts: noise, or zeros where the values may be indices. bf16 is given as its bits."""
    rng = np.random.default_rng(0)
    if dtype == "bf16":
        bits = rng.standard_normal(shape, dtype=np.float32).view(np.uint32) >> 16
        return bits.astype(np.uint16)
    if dtype.startswith("f"):
        return rng.standard_normal(shape, dtype=np.float32).astype(_TYPES[dtype])
    if image:
        return rng.integers(0, 256, shape, dtype=np.uint8).astype(_TYPES[dtype])
    return np.zeros(shape, _TYPES[dtype])
