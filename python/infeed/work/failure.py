"""The exception of a task in a worker, as it is sent to the consumer."""

from __future__ import annotations

import pickle
import traceback
from dataclasses import dataclass
from typing import NoReturn


class WorkerTraceback(Exception):
    """The traceback inside the worker, as text: the cause of the exception that the consumer gets."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"


@dataclass(frozen=True)
class Failure:
    """Returned by :meth:`Pool.result` in place of the value of a task, so that the number of the task is known."""

    worker: int
    pid: int
    kind: str
    text: str
    pickled: bytes | None

    @classmethod
    def of(cls, error: BaseException, worker: int, pid: int) -> Failure:
        """Create a failure, in the worker that caught the error."""
        pickled = None
        try:
            data = pickle.dumps(error)
            # Many exceptions pickle but do not unpickle: those whose __init__ takes other arguments than a message.
            if type(pickle.loads(data)) is type(error):
                pickled = data
        except Exception:
            pass
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        return cls(worker, pid, type(error).__name__, text, pickled)

    def exception(self) -> BaseException:
        """The original exception if it can be pickled, else a RuntimeError; both carry the worker's traceback."""
        error: BaseException | None = None
        if self.pickled is not None:
            try:
                error = pickle.loads(self.pickled)
            except Exception:
                error = None
        if error is None:
            error = RuntimeError(f"worker {self.worker} (pid {self.pid}) raised {self.kind}:\n{self.text}")
        else:
            error.add_note(f"Raised in worker {self.worker} (pid {self.pid}). Its traceback:\n{self.text}")
        error.__cause__ = WorkerTraceback(self.text)
        return error

    def reraise(self) -> NoReturn:
        """Raise it here."""
        raise self.exception()
