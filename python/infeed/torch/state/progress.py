"""What the consumer knows about the epoch that runs."""

from __future__ import annotations

import weakref
from typing import Any

from torch.utils.data.dataloader import _DatasetKind

from . import rng
from .keeper import Carried, Keeper
from .objects import Frozen, thaw
from .order import Order, forward, order_of
from .saved import VERSION, Saved, shape_of


class Progress:
    """How far an epoch is. Outlives the iterator: a state can be taken after ``break``."""

    # Values of the start of an epoch, here because every epoch makes one of these.
    base_seed: int | None = None
    native: dict[str, Any] | None = None
    finished = False
    order: Order | None = None
    keeper: Keeper | None = None
    pool: Any = staticmethod(lambda: None)
    """A weak reference to an iterator with workers."""
    position = 0
    """Batches of indices whose batches were handed out."""
    opened_at = 0
    yielded = 0
    last = -1

    def __init__(self, loader: Any, *, again: bool, native: bool = False, saved: Saved | None = None) -> None:
        self.again = again
        """Whether persistent workers begin another epoch: torch draws no new seed then."""
        self.draws = rng.draws(loader._index_sampler)
        # A native run also takes the seed of its random transforms from torch's generator.
        which: rng.Draws = "torch" if native and self.draws == "nothing" else self.draws
        self.start = saved.start if saved is not None else rng.capture(loader, which)
        self.is_iterable: bool = loader._dataset_kind == _DatasetKind.Iterable
        workers = loader.num_workers
        self.has_workers: bool = workers > 0
        count = workers or 1
        self.early: set[int] = set()
        """Batches after ``position`` that were handed out already (``in_order=False``)."""
        self.handed = [0] * count
        self.since = [0] * count
        self.frozen: list[Frozen | None] = [None] * count
        self.ended: dict[int, Frozen | None] = {}
        if saved is not None:
            self._continue(saved)

    def _continue(self, saved: Saved) -> None:
        self.position = self.opened_at = saved.position
        self.early = set(saved.early)
        self.yielded = saved.yielded
        self.last = saved.last
        self.handed = [place.batches for place in saved.places]
        self.since = list(saved.since)
        if not saved.finished:
            self.frozen = [place.frozen for place in saved.places]

    @property
    def count(self) -> int:
        """Batches that were handed out in this epoch."""
        return self.yielded if self.has_workers else self.position

    def begin(self, iterator: Any, saved: Saved | None) -> Any:
        """The iterator over the sampler, at the position."""
        indices = iterator._sampler_iter
        if self.draws != "unknown" and saved is None:
            return indices
        self.order = order_of(iterator._index_sampler, indices)
        iterator._num_yielded = self.yielded
        if saved is not None and not self.is_iterable:
            if self.order is not None:
                self.order.restore(saved.position, saved.sampler_state, saved.iterator_state)
            else:
                forward(indices, saved.position)
        return indices if self.order is None else self.order

    def hand_out(self, worker: int, number: int, due: int, data: Any) -> Any:
        """Count batch ``number`` of a worker, after which ``due`` is the next one; returns it without what it carries."""
        if number >= due:
            self.early.add(number)
        self.position = due
        self.yielded += 1
        self.last = worker
        self.handed[worker] += 1
        self.since[worker] += 1
        if self.order is not None:
            self.order.forget(due)
        if type(data) is Carried:
            self.frozen[worker] = data.frozen
            self.since[worker] = 0
            return data.data
        return data

    def watch(self, iterator: Any) -> None:
        """Ask this iterator's workers for the states that did not come with a batch yet."""
        self.pool = weakref.ref(iterator)

    def state(self, loader: Any) -> dict[str, Any]:
        """The position, as plain data."""
        state = self._with_workers(loader) if self.has_workers else self._local(loader)
        draws_globally = self.draws == "torch" or (self.order is not None and self.order.draws_globally is not False)
        which: rng.Draws = self.draws if draws_globally else "nothing"
        state["infeed"] = {
            "version": VERSION,
            "shape": shape_of(loader),
            "native": self.native,
            "again": self.again,
            "base_seed": self.base_seed,
            "early": [] if self.is_iterable else sorted(number for number in self.early if number >= self.position),
            "draws_globally": draws_globally,
            "start": rng.to_plain(self.start),
            "now": rng.to_plain(rng.capture(loader, which)),
        }
        return state

    def _main(self, loader: Any) -> dict[str, Any]:
        frozen = None if self.order is None else self.order.at(self.position)
        sampler_state, iterator_state = thaw(frozen) or (None, None)
        return {
            "_index_sampler_state": sampler_state,
            "_sampler_iter_state": iterator_state,
            "_sampler_iter_yielded": self.yielded if self.is_iterable else self.position,
            "_IterableDataset_len_called": loader._IterableDataset_len_called,
        }

    def _part(self, worker: int, frozen: Frozen | None) -> dict[str, Any]:
        states = thaw(frozen) or {"dataset_state": None, "fetcher_state": None}
        if self.is_iterable and states["fetcher_state"] is None:
            states["fetcher_state"] = {"dataset_iter_state": None, "fetcher_ended": worker in self.ended}
        return {**states, "infeed_batches": self.handed[worker], "infeed_since": self.since[worker]}

    def _local(self, loader: Any) -> dict[str, Any]:
        self.yielded = self.handed[0] = self.position
        self.since[0] = self.position if self.keeper is None or self.position == self.opened_at == 0 else 0
        frozen = None
        if self.keeper is not None:
            frozen = self.keeper.initial if self.position == self.opened_at else self.keeper.take()
        return {
            **self._main(loader),
            "_num_yielded": self.yielded,
            "_iterator_finished": self.finished,
            **self._part(0, frozen),
        }

    def _with_workers(self, loader: Any) -> dict[str, Any]:
        iterator = self.pool()
        # A worker whose first batch carried nothing has nothing to tell, and then the others have not either.
        silent = any(since > 0 and frozen is None for since, frozen in zip(self.since, self.frozen, strict=True))
        if iterator is not None and not self.finished and not silent:
            iterator.report(self.frozen)
        final = self.ended if self.finished else {}
        workers = {
            f"worker_{worker}": {"worker_id": worker, **self._part(worker, final.get(worker) or self.frozen[worker])}
            for worker in range(len(self.handed))
        }
        main = {"_num_workers": loader.num_workers, **self._main(loader), "_base_seed": self.base_seed}
        return {
            "_snapshot": {
                "_snapshot_step": self.yielded,
                "_last_yielded_worker_id": self.last,
                "_main_snapshot": main,
                "_worker_snapshots": workers,
            },
            "_steps_since_snapshot": 0,
            "_iterator_finished": self.finished,
        }
