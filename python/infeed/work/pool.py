"""A pool of worker processes: sends tasks, receives values."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import random
import select
import signal
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from multiprocessing.context import BaseContext
from typing import Any

from ..chaos import victim
from ..errors import WorkerDied
from .crew import Worker, death, end
from .failure import Failure
from .parcel import Parcel
from .wire import Channel
from .worker import WorkerInfo


class Pool:
    """Worker processes that run tasks and send the values back through shared memory.

    ``make`` is called once in each worker and returns the function that runs tasks. It is inherited by fork, or pickled
    under ``spawn`` and ``forkserver``. Values may hold NumPy arrays and torch tensors at any depth: these are not pickled
    but placed in shared memory, which is reused when the consumer drops them. The consumer may write to them.

    >>> with Pool(lambda info: lambda task: task * 2, workers=2, context="fork") as pool:
    ...     for number in range(4):
    ...         pool.submit(number, number)
    ...     sorted(pool.result() for _ in range(4))
    [(0, 0), (1, 2), (2, 4), (3, 6)]

    With ``share`` long lists of plain values inside ``make`` are packed once and shared by all workers, which see them as
    a :class:`~infeed.work.SharedList`. ``replace_dead`` starts a new worker for one that died, with its tasks; a second
    death without a value in between is raised. ``timeout`` is the longest that :meth:`result` waits (0: no limit).
    ``chaos`` is a seed: some tasks cost a worker its life, and a worker that was killed so is replaced in any case.

    One thread may call :meth:`submit` while another calls :meth:`result`.
    """

    def __init__(
        self,
        make: Callable[[WorkerInfo], Callable[[Any], Any]],
        *,
        workers: int,
        context: str | BaseContext | None = None,
        name: str = "infeed",
        replace_dead: bool = False,
        timeout: float = 0,
        share: bool = True,
        seed: int | None = None,
        chaos: int | None = None,
    ) -> None:
        if workers < 1:
            raise ValueError(f"a pool needs at least one worker, not {workers}")
        self._context: Any = context if isinstance(context, BaseContext) else multiprocessing.get_context(context)
        self._name = name
        self._replace = replace_dead
        self._timeout = timeout
        self._chaos = chaos
        self.killed = 0
        """Workers that chaos killed."""
        self._ready: deque[tuple[Worker, Channel, Any]] = deque()
        self._lock = threading.RLock()
        self._turn = 0
        self._pid = os.getpid()
        seed = random.SystemRandom().getrandbits(62) if seed is None else seed
        self._workers = [Worker(WorkerInfo(i, workers, seed + i, seed)) for i in range(workers)]
        self._parcel = Parcel(make, share=share)
        self._broken: WorkerDied | None = None
        self._finalize = weakref.finalize(self, end, self._workers, self._parcel, self._pid)
        # NumPy loads its generators on first use, and every worker seeds them: here they are loaded once for all.
        importlib.import_module("numpy.random")
        try:
            for worker in self._workers:
                worker.start(self._context, self._parcel, name)
        except BaseException:
            self.close()
            raise
        if not replace_dead and chaos is None:
            self._parcel.close()
        self._watch()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers and wait for them. Idempotent. Values that were returned stay valid."""
        self._finalize()

    def is_alive(self) -> bool:
        """Whether tasks can be submitted: not closed, no worker lost, not in a forked child."""
        return self._finalize.alive and self._broken is None and os.getpid() == self._pid

    @property
    def outstanding(self) -> int:
        """The number of submitted tasks whose values were not returned yet."""
        return sum(len(worker.tasks) for worker in self._workers)

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        return [worker.process.pid for worker in self._workers if worker.process is not None]

    @property
    def processes(self) -> list[Any]:
        """The process objects of the workers, also of those that have ended."""
        return [worker.child.process for worker in self._workers if hasattr(worker, "child")]

    @property
    def segments(self) -> int:
        """Segments of shared memory that this process has mapped for values."""
        return sum(len(worker.channel.mapped) for worker in self._workers)

    def submit(self, number: int, task: Any, worker: int | None = None) -> None:
        """Give a task to a worker (by default the one with the fewest). Never waits. Numbers must differ."""
        with self._lock:
            self._check()
            if worker is None:
                count = len(self._workers)
                turns = (self._workers[(self._turn + i) % count] for i in range(count))
                chosen = min(turns, key=lambda w: len(w.tasks))
                self._turn = chosen.info.id + 1
            else:
                chosen = self._workers[worker]
            chosen.channel.push(chosen.channel.encode(number, task))
            chosen.tasks[number] = task
            self._kill_one(number)

    def result(self, timeout: float | None = None) -> tuple[int, Any] | None:
        """Number and value of any finished task; None after ``timeout`` seconds.

        The value of a task that raised is a :class:`Failure`, so that the caller knows which task it was and can deliver
        in order; ``Failure.reraise()`` raises the original. The death of a worker is raised at once, as
        :class:`~infeed.WorkerDied`.
        """
        try:
            return self._result(timeout)
        except KeyboardInterrupt:
            # Wherever it came: nobody waits for the tasks any more.
            for worker in self._workers:
                worker.is_interrupted = True
            raise

    def _result(self, timeout: float | None) -> tuple[int, Any] | None:
        limit = timeout if timeout is not None else self._timeout or None
        deadline = None if limit is None else time.monotonic() + limit
        while True:
            with self._lock:
                self._check()
                if self._ready:
                    return self._take()
                poll = self._poll
                for worker in self._workers:
                    writes = select.POLLOUT if worker.channel.has_backlog else 0
                    poll.modify(worker.channel.fileno(), select.POLLIN | writes)
            left = None if deadline is None else max(deadline - time.monotonic(), 0) * 1000
            events = poll.poll(left)
            if not events:
                if timeout is None:
                    raise TimeoutError(f"no worker of {self._name} finished a task within {limit} seconds")
                return None
            with self._lock:
                self._read({fd for fd, _ in events})

    def _take(self) -> tuple[int, Any]:
        worker, channel, frame = self._ready.popleft()
        number: int = frame[0]
        worker.tasks.pop(number, None)
        try:
            return number, channel.decode(frame)
        except Exception as error:
            return number, Failure.of(error, worker.info.id, os.getpid())

    def _read(self, fds: set[int]) -> None:
        for worker in self._workers:
            channel = worker.channel
            gone = worker.child.sentinel in fds
            if gone or channel.fileno() in fds:
                channel.flush()
                # Values that a worker sent before it died are still used.
                while channel.pull(wait=False):
                    pass
                while (frame := channel.next_frame()) is not None:
                    worker.deaths = 0
                    self._ready.append((worker, channel, frame))
            if gone or channel.ended:
                self._bury(worker)

    def _kill_one(self, number: int) -> None:
        """Kill a worker, if that is what chaos has in mind for this task."""
        chosen = None if self._chaos is None else victim(self._chaos, number, len(self._workers))
        if chosen is None:
            return
        worker = self._workers[chosen]
        if not worker.is_victim and not worker.child.has_ended():
            worker.is_victim = True
            worker.child.send(signal.SIGKILL)
            self.killed += 1

    def _bury(self, worker: Worker) -> None:
        """Replace a dead worker, or raise."""
        done = {frame[0] for _, channel, frame in self._ready if channel is worker.channel}
        lost = {number: task for number, task in worker.tasks.items() if number not in done}
        if not worker.is_victim and (not self._replace or worker.deaths):
            self._broken = death(worker, lost, self._name)
            raise self._broken
        # A worker that was killed on purpose says nothing about its tasks.
        worker.deaths += not worker.is_victim
        worker.is_victim = False
        worker.channel.leave()
        if not worker.child.has_ended(wait=1):
            worker.child.send(signal.SIGKILL)
            worker.child.has_ended(wait=1)
        worker.child.release()
        worker.start(self._context, self._parcel, self._name)
        for number, task in lost.items():
            worker.channel.push(worker.channel.encode(number, task))
        self._watch()

    def _check(self) -> None:
        if os.getpid() != self._pid:
            raise RuntimeError("this pool belongs to the process that made it; make another one after a fork")
        if self._broken is not None:
            raise RuntimeError("this pool lost a worker and cannot go on") from self._broken
        if not self._finalize.alive:
            raise RuntimeError("this pool is closed")

    def _watch(self) -> None:
        self._poll = select.poll()
        for worker in self._workers:
            self._poll.register(worker.channel.fileno(), select.POLLIN)
            self._poll.register(worker.child.sentinel, select.POLLIN)
