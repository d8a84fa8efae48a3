"""Threads in the place of worker processes, for interpreters whose threads run Python at the same time."""

from __future__ import annotations

import concurrent.futures
import queue
import sys
from typing import Any

from torch.utils.data import IterableDataset

from .fetch import Resume, Work, utils


class ThreadPool:
    """Does a loader's tasks in threads, over the one dataset there is. Stands where a :class:`~infeed.work.Pool` would.

    Nothing is copied, pickled or started. ``get_worker_info()`` is None: nobody has a copy of the dataset.
    """

    def __init__(self, work: Work, workers: int) -> None:
        self._fetcher = work._fetcher()
        self._threads = concurrent.futures.ThreadPoolExecutor(workers, "infeed-worker")
        self._done: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self._open = True

    def submit(self, number: int, task: Any, worker: int | None = None) -> None:
        """Give a task to whichever thread is free."""
        self._threads.submit(self._do, number, task)

    def _do(self, number: int, task: Any) -> None:
        try:
            value = task if isinstance(task, Resume) else self._fetcher.fetch(task)
        except Exception:
            value = utils.ExceptionWrapper(where="in a DataLoader worker thread")
        self._done.put((number, value))

    def result(self, timeout: float | None = None) -> tuple[int, Any] | None:
        """Number and value of any finished task; None when ``timeout`` seconds are over."""
        try:
            return self._done.get(timeout=timeout)
        except queue.Empty:
            return None

    def is_alive(self) -> bool:
        """Whether tasks can be submitted."""
        return self._open

    def close(self) -> None:
        """End the threads: what is being made is finished, nothing else is begun."""
        self._open = False
        self._threads.shutdown(wait=True, cancel_futures=True)


def wants_threads(workers: str, dataset: Any, worker_init_fn: Any) -> bool:
    """Whether a loader's tasks are done in threads."""
    if workers != "auto":
        return workers == "threads"
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    # Iterable datasets and worker_init_fn are made for workers that have the dataset to themselves.
    return not locked and worker_init_fn is None and not isinstance(dataset, IterableDataset)
