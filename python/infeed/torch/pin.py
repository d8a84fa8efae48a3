"""Copies batches into page-locked memory, in a thread, as torch does."""

from __future__ import annotations

import queue
import threading
import weakref
from typing import Any

import torch
from torch.utils.data import _utils

from ..work import Failure, Pool
from .threads import ThreadPool

utils: Any = _utils

_TICK = 0.1
"""Seconds after which the thread checks whether it should end."""


class Pinner:
    """Takes results from a pool, in its own thread, and returns them pinned."""

    def __init__(self, pool: Pool | ThreadPool, device: Any) -> None:
        self._ready: queue.Queue[Any] = queue.Queue()
        self._done = threading.Event()
        index = torch.accelerator.current_device_index()
        thread = threading.Thread(
            target=_loop,
            args=(weakref.ref(pool), self._ready, self._done, device, index),
            daemon=True,
            name="infeed-pin",
        )
        thread.start()
        # Also at interpreter exit, while threads can still be joined.
        self._finalize = weakref.finalize(self, _stop, self._done, thread)

    def result(self, timeout: float | None = None) -> tuple[int, Any] | None:
        """Like :meth:`Pool.result`."""
        try:
            found: Any = self._ready.get(timeout=timeout)
        except queue.Empty:
            return None
        if isinstance(found, BaseException):
            raise found
        number, data = found
        return number, data

    def close(self) -> None:
        """End the thread."""
        self._finalize()


def _stop(done: threading.Event, thread: threading.Thread) -> None:
    done.set()
    if thread is not threading.current_thread():
        thread.join()


def _loop(pool: Any, ready: queue.Queue[Any], done: threading.Event, device: Any, index: int) -> None:
    # torch's number of threads is a per-thread setting: one is enough for a copy.
    torch.set_num_threads(1)
    torch.accelerator.set_device_index(index)
    while not done.is_set():
        alive = pool()
        if alive is None:
            return
        try:
            found = alive.result(_TICK)
        except BaseException as error:
            ready.put(error)
            return
        if found is not None:
            ready.put((found[0], _pinned(found[1], device)))


def _pinned(data: Any, device: Any) -> Any:
    if isinstance(data, utils.ExceptionWrapper | Failure):
        return data
    try:
        return utils.pin_memory.pin_memory(data, device)
    except Exception:
        return utils.ExceptionWrapper(where=f"in pin memory thread for device {device}")
