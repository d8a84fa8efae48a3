"""Iteration over a loader with worker processes: assigns batches to workers and returns them in order."""

from __future__ import annotations

import functools
import itertools
import warnings
from pickle import PicklingError
from typing import Any

from torch.utils.data import IterDataPipe, MapDataPipe
from torch.utils.data import dataloader as theirs

from ..work import Failure, Pool
from .fetch import Ended, Resume, Work, utils
from .pin import Pinner
from .threads import ThreadPool


class PoolIterator(theirs._BaseDataLoaderIter):
    """One pass over a loader (with ``persistent_workers`` one after the other) by a :class:`~infeed.work.Pool`.

    torch's base class draws the seeds, makes the sampler's iterator and warns. The order of batches is torch's, too:
    numbers are assigned round-robin to the workers and come out in that order.
    """

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._prefetch: int = loader.prefetch_factor
        self._in_order: bool = getattr(loader, "in_order", True)
        if self._prefetch <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 with worker processes")
        init_fn = loader.worker_init_fn
        if isinstance(self._dataset, IterDataPipe | MapDataPipe):
            init_fn = functools.partial(theirs._sharding_worker_init_fn, init_fn, self._world_size, self._rank)
        work = Work(
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
            init_fn,
            self._shared_seed,
        )
        self._pool: Pool | ThreadPool = self._start(loader, work)
        self._source: Any = Pinner(self._pool, self._pin_memory_device) if self._pin_memory else self._pool
        self._reset(loader, first_iter=True)

    def _start(self, loader: Any, work: Work) -> Pool | ThreadPool:
        if loader._in_threads:
            return ThreadPool(work, self._num_workers)
        try:
            return Pool(
                work,
                workers=self._num_workers,
                context=loader.multiprocessing_context,
                name="DataLoader",
                replace_dead=loader.on_dead_worker == "replace",
                share=loader.share_lists,
                seed=int(self._base_seed),
            )
        except (TypeError, AttributeError, PicklingError):
            warnings.warn(
                "a worker process could not be started because something it needs cannot be pickled (the dataset, "
                "collate_fn or worker_init_fn). Give these names of their own at the top of a module, or use "
                "multiprocessing_context='fork'.",
                stacklevel=3,
            )
            raise

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        self._sent = 0
        self._due = 0
        self._owner: dict[int, int] = {}
        self._arrived: dict[int, Any] = {}
        self._active = [True] * self._num_workers
        self._load = [0] * self._num_workers
        self._turns = itertools.cycle(range(self._num_workers))
        if not first_iter:
            self._resume()
        for _ in range(self._prefetch * self._num_workers):
            self._send()

    def _resume(self) -> None:
        """Begin another epoch with the same workers; the remaining results of the last one are discarded."""
        for worker in range(self._num_workers):
            self._pool.submit(-1 - worker, Resume(self._shared_seed), worker)
        waiting = self._num_workers
        while waiting:
            number, data = self._receive()
            if number < 0:
                waiting -= 1
                self._checked(data)

    def _send(self) -> None:
        """Give the next indices to the worker whose turn it is."""
        most = self._prefetch * self._num_workers
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            return
        for _ in range(self._num_workers):
            worker = next(self._turns)
            if self._active[worker] and (self._in_order or self._load[worker] < most // sum(self._active)):
                break
        else:
            return
        self._pool.submit(self._sent, index, worker)
        self._owner[self._sent] = worker
        self._load[worker] += 1
        self._sent += 1

    def _receive(self) -> tuple[int, Any]:
        found: tuple[int, Any] | None = self._source.result(self._timeout if self._timeout > 0 else None)
        if found is None:
            late = sorted(self._owner.values())
            raise RuntimeError(
                f"DataLoader timed out after {self._timeout} seconds: no batch came from the workers {late}. A larger "
                "timeout, more workers or faster samples may help; timeout=0 waits for ever."
            )
        return found

    def _next_data(self) -> Any:
        while True:
            while self._due < self._sent:
                worker = self._owner.get(self._due)
                if self._due in self._arrived or (worker is not None and self._active[worker]):
                    break
                # Returned already (in_order=False), or missing because its worker's iterable dataset is exhausted.
                self._owner.pop(self._due, None)
                self._due += 1
            else:
                if not self._persistent_workers:
                    self.close()
                raise StopIteration
            if self._due in self._arrived:
                number, data = self._due, self._arrived.pop(self._due)
            else:
                number, data = self._receive()
                if isinstance(data, Ended):
                    if self._active[data.worker]:
                        self._active[data.worker] = False
                        self._send()
                    continue
                if number not in self._owner:
                    continue
                if number != self._due and self._in_order:
                    self._arrived[number] = data
                    continue
            if number == self._due:
                self._due += 1
            self._load[self._owner.pop(number)] -= 1
            self._send()
            return self._checked(data)

    def _checked(self, data: Any) -> Any:
        if isinstance(data, utils.ExceptionWrapper | Failure):
            data.reraise()
        return data

    def is_alive(self) -> bool:
        """Whether another epoch can begin with these workers."""
        return self._pool.is_alive()

    def close(self) -> None:
        """End the workers."""
        self._source.close()
        self._pool.close()

    def __del__(self) -> None:
        if "_source" in self.__dict__:
            self.close()
