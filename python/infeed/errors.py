"""Errors without a builtin Python class. Missing paths are ``FileNotFoundError``, bad arguments ``ValueError``."""


class PlanError(ValueError):
    """A pipeline that cannot work. Raised while planning, before any sample is read."""


class StateError(ValueError):
    """A state that does not fit the loader: other data, another order, another seed."""


class FormatError(ValueError):
    """A shard whose bytes do not follow its format."""

    def __init__(self, message: str, shard: str = "", offset: int = 0) -> None:
        super().__init__(message)
        self.shard = shard
        self.offset = offset


class SampleError(RuntimeError):
    """A sample that could not be made."""

    def __init__(
        self,
        message: str,
        shard: str = "",
        row: int | None = None,
        key: str | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(message)
        self.shard = shard
        self.row = row
        self.key = key
        self.field = field


class UnreadableError(SampleError):
    """A sample whose bytes could not be read, although it was tried again: the storage failed, or the data changed.

    It stops the run whatever ``on_error`` says, unless ``skip_unreadable=True`` was given.
    """


class DataChangedError(OSError):
    """An object that is no longer what it was when it was listed."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class TooManyBadSamples(RuntimeError):
    """More bad samples than ``error_limit`` allows."""

    def __init__(self, message: str, count: int = 0, limit: int = 0) -> None:
        super().__init__(message)
        self.count = count
        self.limit = limit


class WorkerDied(RuntimeError):
    """A worker process ended unexpectedly: it was killed, crashed or exited."""

    def __init__(
        self,
        message: str,
        worker: int = 0,
        pid: int | None = None,
        exitcode: int | None = None,
        task: str | None = None,
    ) -> None:
        super().__init__(message)
        self.worker = worker
        self.pid = pid
        self.exitcode = exitcode
        self.task = task
