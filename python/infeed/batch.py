"""Batches: as the consumer gets them, and while they are on their way there."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core

if TYPE_CHECKING:
    import torch

    from .pipeline.sights import Sight


class Batch(dict[str, Any]):
    """A batch: a dict of arrays. It also knows where its samples came from.

    ``batch["__key__"]``, ``batch["__row__"]`` and ``batch["__url__"]`` give key, row number and shard of each sample, and
    ``batch["__pad__"]`` is true for samples that were repeated to fill up the batch. They are computed on access.
    """

    __slots__ = ("_core", "_kept", "_sights")

    _core: _core.Batch | None
    _kept: list[int] | None
    _sights: Mapping[str, Sight] | None

    def __init__(self, *fields: Any, **more: Any) -> None:
        super().__init__(*fields, **more)
        self._core = None
        # Indices into the engine's batch, one per sample, if functions dropped samples or made several of one.
        self._kept = None
        # How fields are drawn: shared by all batches of a loader.
        self._sights = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Batch, (dict(self),)

    def __missing__(self, name: str) -> Any:
        if self._core is None:
            known = ", ".join(self)
            raise KeyError(
                f"there is no field {name!r}; the fields are {known} (a copy does not know where it came from)"
            )
        if name == "__key__":
            return self._only(self._core.keys())
        if name == "__row__":
            return np.asarray(self._only(self._core.rows()), dtype=np.int64)
        if name == "__url__":
            return self._only(self._core.shards())
        if name == "__pad__":
            count = len(self._core)
            return np.asarray(self._only([i >= count - self._core.pads for i in range(count)]), dtype=bool)
        raise KeyError(f"there is no field {name!r}; the fields are {', '.join(self)}")

    def _only(self, items: list[Any]) -> list[Any]:
        return items if self._kept is None else [items[at] for at in self._kept]

    def to(self, device: str | int | torch.device, *, non_blocking: bool = False) -> Batch:
        """A batch with its tensors on a device, for batches of ``to_torch``. Everything else stays as it is.

        ``to_torch(device=...)`` moves batches ahead of the consumer instead, while it computes.
        """
        if not _has(self, "detach") and any(isinstance(value, np.ndarray) for value in self.values()):
            raise TypeError("this batch has NumPy arrays, and only tensors can be moved: open it with to_torch()")
        out = Batch({name: _moved(value, device, non_blocking) for name, value in self.items()})
        out._core, out._kept, out._sights = self._core, self._kept, self._sights
        return out

    def __repr__(self) -> str:
        from .show.words import batch_lines

        return batch_lines(self)

    def _repr_html_(self) -> str:
        from .show.page import displayed

        return displayed(self)


class Sample(dict[str, Any]):
    """One sample: a dict of the values of its fields. See :meth:`Pipeline.__getitem__`.

    ``sample["__key__"]``, ``sample["__row__"]`` and ``sample["__url__"]`` give its key, row number and shard.
    """

    __slots__ = ("_from", "_sights")

    _from: tuple[Batch, int] | None
    _sights: Mapping[str, Sight] | None

    def __init__(self, *fields: Any, **more: Any) -> None:
        super().__init__(*fields, **more)
        # A batch that it is in, and its place there.
        self._from = None
        self._sights = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Sample, (dict(self),)

    def __missing__(self, name: str) -> Any:
        if self._from is None or name not in ("__key__", "__row__", "__url__"):
            raise KeyError(f"there is no field {name!r}; the fields are {', '.join(map(str, self))}")
        batch, at = self._from
        return batch[name][at]

    def __repr__(self) -> str:
        from .show.words import lines

        return lines("Sample", self, self._sights)

    def _repr_html_(self) -> str:
        from .show.page import displayed

        return displayed(self)


def _has(value: Any, attribute: str) -> bool:
    """Whether a value has an attribute, or one of the values in it."""
    if isinstance(value, Mapping):
        return any(_has(item, attribute) for item in value.values())
    if isinstance(value, list | tuple):
        return any(_has(item, attribute) for item in value)
    return hasattr(value, attribute)


def _moved(value: Any, device: Any, non_blocking: bool) -> Any:
    """Tensors, and tensors in lists, tuples and dicts, on a device."""
    if hasattr(value, "detach"):
        return value.to(device, non_blocking=non_blocking)
    if isinstance(value, Mapping):
        return {key: _moved(item, device, non_blocking) for key, item in value.items()}
    if isinstance(value, list):
        return [_moved(item, device, non_blocking) for item in value]
    if isinstance(value, tuple):
        made = [_moved(item, device, non_blocking) for item in value]
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    return value


@dataclasses.dataclass(slots=True)
class Made:
    """A batch on its way to the consumer, and the rows that functions left out of it."""

    batch: Any
    filtered: list[int] = dataclasses.field(default_factory=list)
    bad: list[tuple[int, str]] = dataclasses.field(default_factory=list)


class GivenRun:
    """A run whose rows come from an iterator, which is read slightly ahead of what the threads work on."""

    AHEAD = 32

    def __init__(self, run: _core.Run, batches: Iterable[Sequence[int]]) -> None:
        self._run = run
        self._batches = iter(batches)
        self._open = 0

    def take(self) -> _core.Batch | None:
        """The next batch, or None when the iterator is exhausted."""
        return self._pull(self._run.take)

    def next(self) -> _core.Batch | None:
        """Like :meth:`take`, and adds the time waited to the statistics."""
        return self._pull(self._run.next)

    def _pull(self, pull: Callable[[], _core.Batch | None]) -> _core.Batch | None:
        # Several at a time: a sampler is a Python iterator, and each `give` wakes threads.
        if self._open <= self.AHEAD // 2:
            more = itertools.islice(self._batches, self.AHEAD - self._open)
            rows = [np.asarray(batch).reshape(-1).tolist() for batch in more]
            self._open += len(rows)
            self._run.give(rows)
        batch = pull()
        self._open -= 1
        return batch

    def ready(self) -> bool:
        """Whether :meth:`take` would not have to wait."""
        return self._run.ready() if self._open else False

    def received(self, waited: int = 0, filtered: Sequence[int] = (), bad: Sequence[tuple[int, str]] = ()) -> None:
        """Add the time waited to the statistics."""
        self._run.received(waited, list(filtered), list(bad))

    def close(self) -> None:
        """Stop the threads."""
        self._run.close()
