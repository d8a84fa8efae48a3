"""Worker processes for Python code: they share memory with the consumer instead of pickling arrays."""

from .failure import Failure
from .pool import Pool
from .share import SharedList
from .worker import WorkerInfo, allocate, worker_info

__all__ = ["Failure", "Pool", "SharedList", "WorkerInfo", "allocate", "worker_info"]
