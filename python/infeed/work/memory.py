"""Shared memory: anonymous files, mapped.

A mapping is made with the C library's ``mmap`` and not with Python's, because Python's keeps a file descriptor per
mapping: a consumer that holds a thousand batches would run out of them. Here the descriptor is closed once mapped.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import tempfile
import weakref
from typing import Any

from . import forks

HEADER = 64
"""Size of the header before the data, which keeps the data aligned. Its first byte, set by the reader, says whether the
reader has the segment. The second, set by the owner, says whether the owner was forked while it had a view."""

FREE, LENT, GONE = 0, 1, 2
"""What the first byte of the header says. GONE: the reader has no views any more, but a child of it may have some."""

_READ_WRITE = 1 | 2
_SHARED = 1
_PRIVATE = 2

_libc = ctypes.CDLL(None, use_errno=True)
_mmap = _libc.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
_munmap = _libc.munmap
_munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_madvise = _libc.madvise
_madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_REMOVE = getattr(mmap, "MADV_REMOVE", None)
_FAILED = ctypes.c_void_p(-1).value


def new_file(name: str) -> int:
    """The descriptor of a new anonymous file.

    ``memfd_create`` is not limited by the size of ``/dev/shm``, which containers often set to 64 MB.
    """
    if hasattr(os, "memfd_create"):
        with contextlib.suppress(OSError):
            return os.memfd_create(name, os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


class Mapping:
    """A file mapped into this process until nothing refers to it any more."""

    __slots__ = ("__weakref__", "address", "ref", "size")

    def __init__(self, fd: int, size: int, *, private: bool = False) -> None:
        address = _mmap(None, size, _READ_WRITE, _PRIVATE if private else _SHARED, fd, 0)
        if address is None or address == _FAILED:
            code = ctypes.get_errno()
            raise OSError(code, f"cannot map {size} bytes of shared memory: {os.strerror(code)}")
        self.address: int = address
        self.size = size
        self.ref: weakref.ref[Any] | None = None

    def __del__(self, unmap: Any = _munmap) -> None:
        if hasattr(self, "address"):
            unmap(self.address, self.size)

    def lease(self) -> Any:
        """A ctypes array over all bytes: the base of every view of this mapping, which keeps it mapped."""
        lease = (ctypes.c_char * self.size).from_address(self.address)
        lease.mapping = self  # type: ignore[attr-defined]
        return lease


class Segment(Mapping):
    """A mapping with a header, created and written by an owner and used by a reader who gives it back."""

    __slots__ = ("flag", "last_used", "number", "spoiled", "touched")

    def __init__(self, fd: int, size: int, number: int) -> None:
        super().__init__(fd, size)
        self.number = number
        self.last_used = 0
        self.touched = 0
        """For the owner: bytes from the start that may have pages."""
        self.flag = ctypes.c_ubyte.from_address(self.address)
        self.spoiled = ctypes.c_ubyte.from_address(self.address + 1)

    def is_free(self) -> bool:
        """For the owner: whether nobody holds a view, so that it can be written again."""
        return self.flag.value == FREE and not self.spoiled.value and not self._has_views()

    def is_done(self) -> bool:
        """For the owner: whether it can only be freed, because forked children may hold views."""
        flag = self.flag.value
        return (flag == GONE or (flag == FREE and self.spoiled.value != 0)) and not self._has_views()

    def _has_views(self) -> bool:
        return self.ref is not None and self.ref() is not None

    def give_back(self, start: int, end: int) -> None:
        """For the owner: free the pages between two offsets, in all processes. Their bytes are zero from then on."""
        start = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
        if _REMOVE is not None and start < end:
            # Where the file system cannot, the pages stay.
            _madvise(self.address + start, end - start, _REMOVE)

    def borrow(self) -> Any:
        """For the owner: a lease that :meth:`is_free` takes into account."""
        lease = self.lease()

        # The bytes are arguments, and not the segment: a cycle would keep it mapped.
        def release(
            _: Any, spoiled: Any = self.spoiled, taken: int = forks.stamp(), forked_since: Any = forks.forked_since
        ) -> None:
            if forked_since(taken):
                spoiled.value = 1

        self.ref = weakref.ref(lease, release)
        return lease

    def receive(self) -> Any:
        """For the reader: a lease that gives the segment back when its last view is gone."""
        lease = self.lease()

        # A process forked from the reader has copies of its views. Only the reader itself may release the segment.
        def release(
            _: Any,
            flag: Any = self.flag,
            pid: int = os.getpid(),
            taken: int = forks.stamp(),
            getpid: Any = os.getpid,
            forked_since: Any = forks.forked_since,
        ) -> None:
            if getpid() == pid:
                flag.value = GONE if forked_since(taken) else FREE

        self.ref = weakref.ref(lease, release)
        return lease
