"""Threads instead of worker processes, for interpreters without the GIL."""

from __future__ import annotations

import concurrent.futures
import queue
import sys
from typing import Any

from torch.utils.data import IterableDataset

from .fetch import Resume, Work, utils


class ThreadPool:
    """Runs a loader's tasks in threads that share one dataset. Has the interface of a :class:`~infeed.work.Pool`.

    Nothing is copied or pickled, and no process is started. ``get_worker_info()`` is None: no thread has its own copy of
    the dataset.
    """

    def __init__(self, work: Work, workers: int) -> None:
        self._fetcher = work._fetcher()
        self._threads = concurrent.futures.ThreadPoolExecutor(workers, "infeed-worker")
        self._done: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self._open = True

    def submit(self, number: int, task: Any, worker: int | None = None) -> None:
        """Give a task to any free thread."""
        self._threads.submit(self._do, number, task)

    def _do(self, number: int, task: Any) -> None:
        try:
            value = task if isinstance(task, Resume) else self._fetcher.fetch(task)
        except Exception:
            value = utils.ExceptionWrapper(where="in a DataLoader worker thread")
        self._done.put((number, value))

    def result(self, timeout: float | None = None) -> tuple[int, Any] | None:
        """Number and value of any finished task; None after ``timeout`` seconds."""
        try:
            return self._done.get(timeout=timeout)
        except queue.Empty:
            return None

    @property
    def processes(self) -> list[Any]:
        """None: there are only threads."""
        return []

    def is_alive(self) -> bool:
        """Whether tasks can be submitted."""
        return self._open

    def close(self) -> None:
        """End the threads: running tasks are finished, no others are started."""
        self._open = False
        self._threads.shutdown(wait=True, cancel_futures=True)


def wants_threads(workers: str, dataset: Any, worker_init_fn: Any) -> bool:
    """Whether a loader's tasks run in threads."""
    if workers != "auto":
        return workers == "threads"
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    # Iterable datasets and worker_init_fn expect workers that have their own copy of the dataset.
    return not locked and worker_init_fn is None and not isinstance(dataset, IterableDataset)
