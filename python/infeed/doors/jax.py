"""The JAX door: batches as ``jax.Array``, on a device or spread over a mesh, transferred ahead of the consumer."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .. import _core
from ..batch import GivenRun, Made
from ..launch import world
from .loader import Loader
from .options import LoaderOptions
from .specs import layouts

try:
    import jax
    from jax.sharding import NamedSharding, PartitionSpec, Sharding
except ImportError as error:  # pragma: no cover - depends on the environment
    raise ImportError("infeed.jax needs JAX: pip install infeed[jax]") from error

if TYPE_CHECKING:
    from ..pipeline import Pipeline

_CURE = 'use batch(..., drop_last=True) or batch(..., last="pad")'


class JaxLoader(Loader):
    """A :class:`~infeed.loader.Loader` whose arrays are ``jax.Array``.

    * ``device``: where arrays go (default: JAX's default device). On the CPU they share the batch's memory.
    * ``sharding``: arrays are global, spread over the devices of all processes: each process contributes the rows of its
      own rank. The first axis of the sharding splits the batch. Arrays with fewer dimensions than the sharding has use
      the first part of it. Rank and world size come from the sharding: processes that hold the same part of the batch
      (model parallelism) are the same rank.
    * ``ahead``: how many batches are transferred before they are asked for; transfers overlap with your step

    JAX without ``jax_enable_x64`` has no 64-bit types: i64 and u64 become 32 bits wide (a value that does not fit is an
    error), f64 becomes f32. Fields that are not one array (text, bytes, arrays of varying shape) stay in host memory, as
    lists, of NumPy arrays in the case of arrays.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        sharding: Sharding | None = None,
        device: Any = None,
        ahead: int = 2,
        **options: Unpack[LoaderOptions],
    ) -> None:
        if sharding is not None and device is not None:
            raise ValueError("give either sharding or device: a sharding names its devices")
        if ahead < 0:
            raise ValueError(f"ahead must not be negative, got {ahead}")
        self.sharding = sharding
        self.device = device
        self.ahead = ahead
        self._split = None if sharding is None else _Split.of(sharding)
        if self._split is not None and options.get("rank") is None and options.get("world_size") is None:
            found = world()
            if (found.rank, found.size) != (self._split.rank, self._split.size):
                options |= {"rank": self._split.rank, "world_size": self._split.size}
        super().__init__(pipeline, **options)
        if self._split is not None:
            self._full = self._split.check(pipeline, self.world.rank, self.world.size)

    @property
    def _feeds_device(self) -> bool:
        if self.sharding is not None:
            return any(device.platform != "cpu" for device in self.sharding.device_set)
        if self.device is not None:
            return getattr(self.device, "platform", "cpu") != "cpu"
        # Asking JAX for its default device would start it, and the program may still have to say how
        # (jax.distributed.initialize): what is installed has to do.
        wanted = jax.config.jax_platforms
        return wanted.split(",")[0] != "cpu" if wanted else bool(entry_points(group="jax_plugins"))

    @property
    def _looks_ahead(self) -> bool:
        return True

    def _made(self, run: _core.Run | GivenRun) -> Iterator[Made]:
        # device_put is asynchronous, so the consumer's own thread can call it. It never waits: it looks ahead only as
        # far as batches are finished.
        made = super()._made(run)
        held: deque[Made] = deque()
        end: BaseException | None = None
        while True:
            while end is None and (not held or (len(held) <= self.ahead and run.ready())):
                try:
                    held.append(next(made))
                except Exception as error:
                    # Raised after the batches before it are handed out.
                    end = error
            if held:
                yield held.popleft()
            elif isinstance(end, StopIteration) or end is None:
                return
            else:
                raise end

    def _convert(self, column: Any, kind: str, array: Any = None) -> Any:
        if isinstance(column, list):
            return super()._convert(column, kind, array)
        return self._put(self._array(column))

    def _leaf(self, value: Any) -> Any:
        array = super()._leaf(value)
        return self._put(array) if isinstance(array, np.ndarray) and array.dtype.kind in "biufc" else array

    def _item(self, value: Any) -> Any:
        return super()._leaf(value)

    def _put(self, array: np.ndarray[Any, Any]) -> jax.Array:
        array = _narrow(array)
        if self.sharding is None or self._split is None:
            return jax.device_put(array, self.device)
        rows = len(array)
        if self._split.size > 1 and self._full is not None and rows != self._full:
            raise ValueError(
                f"this rank has {rows} rows and not {self._full}: the ranks would not agree on the shape of the global"
                f' array; {_CURE}, and on_error="replace" instead of "skip"'
            )
        if rows % self._split.parts:
            raise ValueError(
                f"a batch of {rows} rows cannot be split evenly over {self._split.parts} devices; {_CURE}"
            )
        sharding = _first_axes(self.sharding, array.ndim)
        return jax.make_array_from_process_local_data(sharding, array, (rows * self._split.size, *array.shape[1:]))

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild, (kind, pipeline, options, state) = super().__reduce__()
        return rebuild, (kind, pipeline, options | {"ahead": self.ahead, **self._places()}, state)

    def _places(self) -> dict[str, Any]:
        places = {"sharding": self.sharding, "device": self.device}
        return {name: place for name, place in places.items() if place is not None}


@dataclass(frozen=True)
class _Split:
    """How a sharding splits the batch: this process's part, the number of parts, and the devices that share a part."""

    rank: int
    size: int
    parts: int

    @classmethod
    def of(cls, sharding: Sharding) -> _Split:
        devices = len(sharding.device_set)
        held: dict[int, set[int]] = {}
        for device, (rows, *_) in _first_axes(sharding, 1).devices_indices_map((devices,)).items():
            held.setdefault(device.process_index, set()).add(rows.indices(devices)[0])
        mine = held.get(jax.process_index())
        if mine is None:
            raise ValueError("this process has no device in the sharding, so no part of the batch is its own")
        ranks = sorted({tuple(sorted(parts)) for parts in held.values()})
        if len({len(parts) for parts in ranks}) > 1 or len({part for parts in ranks for part in parts}) != sum(
            map(len, ranks)
        ):
            raise ValueError("the sharding gives processes parts of the batch that overlap or differ in size")
        return cls(ranks.index(tuple(sorted(mine))), len(ranks), len(mine))

    def check(self, pipeline: Pipeline, rank: int, size: int) -> int | None:
        """Rows of a full batch, if the recipe says it. Raises for uneven splits before anything is read."""
        if (rank, size) != (self.rank, self.size):
            raise ValueError(
                f"by its sharding this process is rank {self.rank} of {self.size}, and it was told to be rank {rank} of"
                f" {size}: leave rank and world_size out"
            )
        if "flat" in layouts(pipeline).values():
            raise ValueError(
                'samples that lie end to end cannot be split over devices: use ragged="pad", or leave sharding= out'
            )
        stages = [stage for stage in pipeline.recipe["stage"] if stage["op"] == "batch"]
        if not stages:
            return None
        batch = stages[-1]
        whole = batch["size"] * size if "size" in batch else batch["global_size"]
        if whole % (size * self.parts):
            raise ValueError(
                f"a global batch of {whole} rows cannot be split evenly over {size * self.parts} devices: choose a"
                f" multiple of {size * self.parts}"
            )
        if batch["last"] == "short" and not pipeline.plan.is_stream:
            left = pipeline.plan.places % whole
            if left % self.parts or (left and size > 1):
                raise ValueError(
                    f"the last batch of an epoch has {left} rows over all ranks, which cannot be split evenly over"
                    f" {size * self.parts} devices; {_CURE}"
                )
        return int(whole // size)


def _first_axes(sharding: Sharding, ndim: int) -> Sharding:
    if isinstance(sharding, NamedSharding) and len(sharding.spec) > ndim:
        spec = PartitionSpec(*sharding.spec[:ndim])
        return NamedSharding(sharding.mesh, spec, memory_kind=sharding.memory_kind)
    return sharding


def _narrow(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array in a dtype that JAX supports as configured."""
    dtype = np.dtype(jax.dtypes.canonicalize_dtype(array.dtype))
    if dtype == array.dtype:
        return array
    if dtype.kind in "iu" and array.size:
        limits = np.iinfo(dtype)
        if array.min() < limits.min or array.max() > limits.max:
            raise OverflowError(
                f"a value between {array.min()} and {array.max()} does not fit into {dtype}, the widest integer that JAX"
                ' has without jax.config.update("jax_enable_x64", True)'
            )
    return array.astype(dtype)
