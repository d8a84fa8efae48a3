"""Delivery: a thread that moves batches to the device before they are asked for."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from .. import _core
from ..batch import Made

T = TypeVar("T")

#: Seconds to wait for a thread that was told to stop. A thread inside a user's function is not waited for any longer:
#: it ends when the function returns.
_PATIENCE = 5.0


class Placed:
    """A run and the position at which it begins."""

    def __init__(self, run: _core.Run, at: tuple[int, int]) -> None:
        #: Epoch and step of its first batch.
        self.at = at
        self.next = run.next
        self.take = run.take
        self.received = run.received
        self.ready = run.ready
        self.give = run.give
        #: Also wakes a thread that waits in :meth:`take`.
        self.close = run.close


class Pulled(Iterator[Made]):
    """The batches of a run, together with the run."""

    at: tuple[int, int]
    stop: Callable[[], object]

    def __init__(self, made: Iterator[Made], run: Placed) -> None:
        self._made = made
        self.at = run.at
        self.stop = run.close

    def __next__(self) -> Made:
        return next(self._made)

    def close(self) -> None:
        """End the generator, in the thread that ran it."""
        getattr(self._made, "close", lambda: None)()


class _Failed:
    def __init__(self, error: BaseException) -> None:
        self.error = error


class Delivery(Generic[T]):
    """Runs ``work`` on the items of ``made``, at most ``ahead`` of them before they are asked for, in order.

    An error is raised in order, after the items before it. The thread ends after the last item, after an error, and on
    :meth:`stop`.
    """

    def __init__(self, made: Pulled, work: Callable[[Made, int], T], ahead: int) -> None:
        #: Epoch and step of the first item.
        self.at = made.at
        self._made = made
        self._work = work
        self._stopping = False
        self._room = threading.Semaphore(ahead)
        self._done: queue.SimpleQueue[tuple[Made, T] | _Failed | None] = queue.SimpleQueue()
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._run, name="infeed-delivery", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        try:
            while self._room.acquire() and not self._stopping:
                item = next(self._made, None)
                if item is None or self._stopping:
                    break
                self._done.put((item, self._work(item, number)))
                number += 1
                # Otherwise the batch would be kept alive until the next one arrives.
                del item
        except BaseException as error:
            self._done.put(_Failed(error))
        finally:
            try:
                self._made.close()
            finally:
                self._done.put(None)

    def __iter__(self) -> Iterator[tuple[Made, T]]:
        while True:
            if os.getpid() != self._process:
                raise ValueError(
                    "this loader was started before the process forked and its threads stayed behind; start the"
                    " iteration anew in the child process"
                )
            found = self._done.get()
            if found is None:
                return
            if isinstance(found, _Failed):
                raise found.error
            self._room.release()
            yield found
            del found

    def stop(self) -> bool:
        """End the thread. False if it is still inside a user's function."""
        if self._stopping:
            # The second call may come during interpreter shutdown: touch nothing.
            return not self._thread.is_alive()
        self._stopping = True
        self._made.stop()
        self._room.release()
        if self._process == os.getpid() and self._thread is not threading.current_thread():
            self._thread.join(_PATIENCE)
        # There is no consumer any more: drop finished items, and wake the thread if it waits for room.
        while not self._done.empty():
            self._done.get()
        self._done.put(None)
        return not self._thread.is_alive()

    def __repr__(self) -> str:
        state: Any = "stopped" if self._stopping else "running"
        return f"<Delivery, {state}>"


class Following(Pulled):
    """What a delivery gives, as what another one begins with."""

    def __init__(self, delivery: Delivery[Any]) -> None:
        self._delivery = delivery
        self._items = iter(delivery)
        self.at = delivery.at
        self.stop = delivery.stop

    def __next__(self) -> Made:
        made, _ = next(self._items)
        return made

    def close(self) -> None:
        """End the thread behind it."""
        self._delivery.stop()
