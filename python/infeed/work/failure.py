"""What a task raised in a worker, on its way to the consumer."""

from __future__ import annotations

import pickle
import traceback
from dataclasses import dataclass
from typing import NoReturn


class WorkerTraceback(Exception):
    """The traceback inside the worker, as text: the cause of what the consumer sees."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"


@dataclass(frozen=True)
class Failure:
    """Stands where the value of a task would: :meth:`Pool.result` gives it, so that the number of the task is known."""

    worker: int
    pid: int
    kind: str
    text: str
    pickled: bytes | None

    @classmethod
    def of(cls, error: BaseException, worker: int, pid: int) -> Failure:
        """Made where the error is caught."""
        pickled = None
        try:
            data = pickle.dumps(error)
            # Many exceptions pickle and do not unpickle: those whose __init__ wants other arguments than a message.
            if type(pickle.loads(data)) is type(error):
                pickled = data
        except Exception:
            pass
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        return cls(worker, pid, type(error).__name__, text, pickled)

    def exception(self) -> BaseException:
        """The original exception where it can travel, else a RuntimeError; both carry the worker's traceback."""
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
