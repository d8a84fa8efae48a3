"""Iteration over a loader with worker processes: assigns batches to workers and returns them in order."""

from __future__ import annotations

import functools
import itertools
import signal
import warnings
from pickle import PicklingError
from typing import Any

from torch.utils.data import IterDataPipe, MapDataPipe
from torch.utils.data import dataloader as theirs

from ..errors import WorkerDied
from ..work import Failure, Pool
from .fetch import Ended, Resume, Told, Work, utils
from .pin import Pinner
from .state.keeper import Report
from .state.objects import Frozen, is_stateful
from .steps import Steps
from .threads import ThreadPool


class PoolIterator(Steps, theirs._MultiProcessingDataLoaderIter):
    """One pass over a loader (with ``persistent_workers`` one after the other) by a :class:`~infeed.work.Pool`.

    torch's base class draws the seeds, makes the sampler's iterator and warns. The order of batches is torch's, too:
    numbers are assigned round-robin to the workers and come out in that order. It is an iterator of torch's class with
    the attributes that training frameworks look at, but none of that class's code runs.
    """

    def __init__(self, loader: Any) -> None:
        theirs._BaseDataLoaderIter.__init__(self, loader)
        saved = loader._resuming
        if saved is not None and saved.base_seed is not None:
            self._base_seed = saved.base_seed
        self._shutdown = False
        self._prefetch_factor: int = loader.prefetch_factor
        self._in_order: bool = getattr(loader, "in_order", True)
        if self._prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 with worker processes")
        init_fn = loader.worker_init_fn
        if isinstance(self._dataset, IterDataPipe | MapDataPipe):
            init_fn = functools.partial(theirs._sharding_worker_init_fn, init_fn, self._world_size, self._rank)
        self._worker_init_fn = init_fn
        work = Work(
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
            init_fn,
            self._shared_seed,
            None if saved is None else saved.places,
            loader.snapshot_every_n_steps,
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
                "Got pickle error when attempting to start a worker Process: something that it needs cannot be pickled "
                "(the dataset, collate_fn or worker_init_fn). Give these names of their own at the top of a module, or "
                "use multiprocessing_context='fork'.",
                stacklevel=3,
            )
            raise

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        saved = loader._resuming if first_iter else None
        if saved is not None and saved.again:
            saved.restore_start(loader)
        theirs._BaseDataLoaderIter._reset(self, loader, first_iter)
        self.progress = progress = loader._progress
        progress.base_seed = int(self._base_seed)
        progress.watch(self)
        self._sampler_iter = progress.begin(self, saved)
        self._sent = self._due = progress.position
        self._owner: dict[int, int] = {}
        self._arrived: dict[int, Any] = {}
        self._told: set[int] = set()
        # Handed out before the state was taken, although they come later (in_order=False).
        self._skipped = frozenset(() if saved is None else saved.early)
        self._workers_status = [True] * self._num_workers
        self._load = [0] * self._num_workers
        self._turns = itertools.cycle(range(self._num_workers))
        next(itertools.islice(self._turns, progress.last + 1, progress.last + 1), None)
        if not first_iter:
            self._resume()
        for _ in range(self._prefetch_factor * self._num_workers):
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
                if isinstance(data, Told):
                    self.progress.frozen[-1 - number] = data.frozen

    def report(self, frozen: list[Frozen | None]) -> None:
        """Ask workers that have not sent a state yet for the one at the start of the epoch."""
        iterable = self._dataset_kind == theirs._DatasetKind.Iterable
        if isinstance(self._pool, ThreadPool) or not self.is_alive() or not (iterable or is_stateful(self._dataset)):
            return
        waiting = {-1 - worker for worker, state in enumerate(frozen) if state is None} - self._told
        for number in waiting:
            self._pool.submit(number, Report(), -1 - number)
        while waiting:
            number, data = self._receive()
            if isinstance(data, Ended):
                self._end(data)
            elif number >= 0:
                self._arrived[number] = data
            if number >= 0:
                continue
            waiting.discard(number)
            self._told.add(number)
            if isinstance(data, Told):
                frozen[-1 - number] = data.frozen

    def _send(self) -> None:
        """Give the next indices to the worker whose turn it is."""
        most = self._prefetch_factor * self._num_workers
        try:
            index = next(self._sampler_iter)
            while self._sent in self._skipped:
                index = next(self._sampler_iter)
                self._sent += 1
        except StopIteration:
            return
        for _ in range(self._num_workers):
            worker = next(self._turns)
            if self._workers_status[worker] and (
                self._in_order or self._load[worker] < most // sum(self._workers_status)
            ):
                break
        else:
            return
        self._pool.submit(self._sent, index, worker)
        self._owner[self._sent] = worker
        self._load[worker] += 1
        self._sent += 1

    def _receive(self) -> tuple[int, Any]:
        try:
            found: tuple[int, Any] | None = self._source.result(self._timeout if self._timeout > 0 else None)
        except WorkerDied as error:
            error.args = (f"{_as_torch_says(error)} {error}",)
            raise
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
                if self._due in self._arrived or (worker is not None and self._workers_status[worker]):
                    break
                # Returned already (in_order=False), or missing because its worker's iterable dataset is exhausted.
                self._owner.pop(self._due, None)
                self._due += 1
            else:
                # A pass that was shut down is over, too, but its state is that of the last batch.
                self.progress.finished = not self._shutdown or self.progress.finished
                if not self._persistent_workers:
                    self.close()
                raise StopIteration
            if self._due in self._arrived:
                number, data = self._due, self._arrived.pop(self._due)
            else:
                number, data = self._receive()
                if isinstance(data, Ended):
                    self._end(data)
                    continue
                if number not in self._owner:
                    continue
                if number != self._due and self._in_order:
                    self._arrived[number] = data
                    continue
            if number == self._due:
                self._due += 1
            worker = self._owner.pop(number)
            self._load[worker] -= 1
            data = self.progress.hand_out(worker, number, self._due, data)
            self._send()
            return self._checked(data)

    def _end(self, told: Ended) -> None:
        """Give no more tasks to a worker whose iterable dataset is exhausted."""
        if self._workers_status[told.worker]:
            self.progress.ended[told.worker] = told.frozen
            self._workers_status[told.worker] = False
            self._send()

    def _checked(self, data: Any) -> Any:
        if isinstance(data, utils.ExceptionWrapper | Failure):
            data.reraise()
        return data

    def stats(self) -> dict[str, Any]:
        """Batches that wait for the consumer or are being made, and the worker processes."""
        pool = self._pool
        processes = {} if isinstance(pool, ThreadPool) else {"pids": pool.pids, "segments": pool.segments}
        return {"ready": len(self._arrived), "under_way": len(self._owner) - len(self._arrived), **processes}

    def is_alive(self) -> bool:
        """Whether another epoch can begin with these workers."""
        return self._pool.is_alive()

    @property
    def _workers(self) -> list[Any]:  # type: ignore[override]
        return self._pool.processes if "_pool" in self.__dict__ else []

    def close(self) -> None:
        """End the workers."""
        self._shutdown = True
        self._source.close()
        self._pool.close()

    def _shutdown_workers(self) -> None:
        self.close()
        # As in torch: what has arrived is handed out, then the pass is over.
        self._workers_status = [False] * self._num_workers

    def __del__(self) -> None:
        if "_source" in self.__dict__:
            self.close()


def _as_torch_says(error: WorkerDied) -> str:
    """The words of torch for a dead worker, which scripts look for."""
    code = error.exitcode
    words = f"DataLoader worker (pid(s) {error.pid}) exited unexpectedly."
    if code is not None and code < 0:
        words += f" DataLoader worker (pid {error.pid}) is killed by signal: {signal.strsignal(-code)}."
    elif code:
        words += f" DataLoader worker (pid {error.pid}) exited unexpectedly with exit code {code}."
    return words
