"""Worker processes for Python code: they share memory with the consumer instead of pickling arrays."""

from .failure import Failure
from .lists import SharedList
from .pool import Pool
from .worker import WorkerInfo, allocate, worker_info

__all__ = ["Failure", "Pool", "SharedList", "WorkerInfo", "allocate", "worker_info"]
