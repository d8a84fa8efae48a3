"""Runners of Python functions: in the consumer's thread, in threads, or in worker processes."""

from __future__ import annotations

import concurrent.futures
import os
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from .._typing import OnDeadWorker, Workers, one_of
from .tail import Result, Tail, Task

T = TypeVar("T", covariant=True)

#: How much lower the priority of worker processes is that work beside a training process: as for threads of the engine.
_NICER = 10
# Seconds to wait for the oldest result before checking for another task to hand out.
GLANCE = 0.002


class Steps(Protocol[T]):
    """A source of tasks. Each task comes with an object that is returned with its result."""

    def ready(self) -> bool:
        """Whether :meth:`take` would not have to wait."""

    def take(self) -> tuple[T, Task] | None:
        """The next task, or None at the end."""


class Runner:
    """Runs tasks, several at a time, and gives results in order."""

    noun = "thread"

    @property
    def deaths(self) -> int:
        """Workers that chaos killed."""
        return 0

    def __init__(self, tail: Tail, workers: int) -> None:
        self.tail = tail
        self.workers = workers
        self.stall: float | None = None
        """Seconds without a result after which that is an error."""

    def results(self, steps: Steps[T]) -> Iterator[tuple[T, Result]]:
        """The results of all steps, in order. The error of a step is raised after the results before it."""
        pending: deque[tuple[T, Any]] = deque()
        ended: BaseException | bool = False
        depth = 2 * self.workers
        try:
            while True:
                while not ended and len(pending) < depth and (not pending or steps.ready()):
                    try:
                        step = steps.take()
                    except BaseException as error:
                        ended = error
                        break
                    if step is None:
                        ended = True
                    else:
                        pending.append((step[0], self.begin(step[1])))
                if not pending:
                    break
                full = bool(ended) or len(pending) >= depth
                result = self.end(pending[0][1], self.stall if full else GLANCE)
                if result is None and full:
                    raise TimeoutError(
                        f"no {self.noun} finished a task within {self.stall} seconds: a Python function hangs"
                    )
                if result is not None:
                    yield pending.popleft()[0], result
            if isinstance(ended, BaseException):
                raise ended
        finally:
            for _, handle in pending:
                self.forget(handle)

    def begin(self, task: Task) -> Any:
        """Start a task."""
        raise NotImplementedError

    def end(self, handle: Any, patience: float | None) -> Result | None:
        """The result of a task, or None if it is not done within ``patience`` seconds."""
        raise NotImplementedError

    def forget(self, handle: Any) -> None:
        """Drop a task whose result is no longer needed."""

    def close(self) -> None:
        """Release threads and processes."""


class InConsumer(Runner):
    """Runs in the consumer's own thread, when a batch is asked for."""

    def __init__(self, tail: Tail) -> None:
        super().__init__(tail, 1)

    def results(self, steps: Steps[T]) -> Iterator[tuple[T, Result]]:
        """Without looking ahead."""
        while (step := steps.take()) is not None:
            yield step[0], self.tail.run(step[1], keep=True)


class InThreads(Runner):
    """Runs in threads: no copies and nothing to pickle, but Python code of the threads shares the GIL."""

    _pool: concurrent.futures.ThreadPoolExecutor | None = None

    def __init__(self, tail: Tail, workers: int) -> None:
        super().__init__(tail, workers)
        self._process = os.getpid()
        # Global generators are shared by all threads, including the consumer's, so they cannot be seeded per row.
        tail.seeds = False

    def begin(self, task: Task) -> Any:
        """Start a task."""
        if self._process != os.getpid():
            # This process was forked: the threads exist only in the parent.
            self._pool, self._process = None, os.getpid()
        if self._pool is None:
            self._pool = concurrent.futures.ThreadPoolExecutor(self.workers, "infeed-python")
        return self._pool.submit(self.tail.run, task)

    def end(self, handle: Any, patience: float | None) -> Result | None:
        """Its result."""
        try:
            result: Result = handle.result(patience)
        except TimeoutError:
            return None
        return result

    def forget(self, handle: Any) -> None:
        """Nobody waits for this task any more."""
        handle.cancel()

    def close(self) -> None:
        """Wait for the samples that are being made, and end the threads."""
        if self._pool is not None and self._process == os.getpid():
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = None


class InProcesses(Runner):
    """Runs in worker processes; what they make comes back in shared memory."""

    noun = "worker process"

    def __init__(
        self,
        tail: Tail,
        workers: int,
        context: Any = None,
        on_dead_worker: str = "raise",
        chaos: int | None = None,
        low: bool = False,
    ) -> None:
        super().__init__(tail, workers)
        self.low = low
        self.context = context
        self.on_dead_worker = on_dead_worker
        self.chaos = chaos
        self._buried = 0
        self._pool: Any = None
        self._next = 0
        self._done: dict[int, Any] = {}
        self._forgotten: set[int] = set()
        self._process = os.getpid()

    def begin(self, task: Task) -> Any:
        """Start a task."""
        from ..work import Pool

        if self._process != os.getpid():
            # This process was forked: the workers belong to the parent.
            self._pool, self._process = None, os.getpid()
            self._done.clear()
            self._forgotten.clear()
        if self._pool is not None and not self._pool.is_alive():
            # A worker died in an earlier epoch: start new ones.
            self.close()
        if self._pool is None:
            replace = self.on_dead_worker == "replace"
            self._pool = Pool(
                _Make(self.tail, self.low),
                workers=self.workers,
                context=self.context,
                replace_dead=replace,
                chaos=self.chaos,
            )
        number = self._next
        self._next += 1
        self._pool.submit(number, task)
        return number

    def end(self, handle: Any, patience: float | None) -> Result | None:
        """Its result."""
        from ..work import Failure

        while handle not in self._done:
            found = self._pool.result(patience)
            if found is None:
                return None
            number, value = found
            if isinstance(value, Failure):
                value.reraise()
            if number in self._forgotten:
                self._forgotten.discard(number)
            else:
                self._done[number] = value
        result: Result = self._done.pop(handle)
        return result

    def forget(self, handle: Any) -> None:
        """Nobody waits for this task any more."""
        if self._done.pop(handle, None) is None:
            self._forgotten.add(handle)

    @property
    def deaths(self) -> int:
        """Workers that chaos killed."""
        return self._buried + (0 if self._pool is None else int(self._pool.killed))

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._buried += self._pool.killed
            self._pool.close()
            self._pool = None
        self._done.clear()
        self._forgotten.clear()


class _Make:
    """Creates, in each worker process, the function that runs tasks."""

    def __init__(self, tail: Tail, low: bool) -> None:
        self.tail = tail
        self.low = low

    def __call__(self, info: Any) -> Callable[[Task], Result]:
        from ..work import allocate

        if self.low:
            os.nice(_NICER)
        return lambda task: portable(self.tail.run(task, allocate))


def portable(result: Result) -> Result:
    """A result that can be sent to another process: the traceback of an error is included as text."""
    if result.failed is not None:
        import pickle

        error = result.failed.error
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            result.failed.error = RuntimeError(f"{type(error).__name__}: {error}")
    return result


def runner(
    tail: Tail,
    workers: Workers,
    number: int,
    context: Any = None,
    on_dead_worker: OnDeadWorker = "raise",
    chaos: int | None = None,
    *,
    low: bool = False,
) -> Runner:
    """Create a runner by its name. ``low``: worker processes let the consumer go first."""
    one_of("on_dead_worker", on_dead_worker, OnDeadWorker)
    one_of("workers", workers, Workers)
    if workers == "consumer":
        return InConsumer(tail)
    if number < 1:
        raise ValueError(f'num_workers must be at least 1, got {number}; workers="consumer" uses none')
    if workers == "threads":
        return InThreads(tail, number)
    return InProcesses(tail, number, context, on_dead_worker, chaos, low)
