"""Shared memory for the arrays of messages: segments that are reused.

One process owns an arena and writes, one other process reads. The first byte of a segment says who has it: the owner sets
it before it sends a message, the reader clears it when the last view of the message's arrays is gone. So a reader that
keeps every batch gets new segments and never waits, and its batches are never overwritten. A reader that releases its
batches gets the same few segments, whose pages are warm in both processes. A segment that was in use while its process
was forked is not used again, because the child may still read it (see :mod:`.forks`).
"""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from .memory import FREE, HEADER, LENT, Segment, new_file

_ALIGN = 64
_IDLE = 16
"""A segment that was not used for this many messages is freed."""
_TAIL = 1 << 20
"""Fewer bytes than these behind a message keep their pages."""


class Arena:
    """The segments of one owner."""

    def __init__(self, name: str = "infeed") -> None:
        self._name = name
        self._segments: dict[int, Segment] = {}
        self._next = 0
        self._messages = 0
        self._hint = 0
        self._open: list[_Open] = []
        self._made: list[tuple[int, int, int]] = []
        self._retired: list[int] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._segments)

    @property
    def nbytes(self) -> int:
        """Bytes of all segments."""
        return sum(s.size for s in self._segments.values())

    def reserve(self, nbytes: int) -> Any:
        """Allocate bytes in a segment of the current message, as a writable memoryview."""
        with self._lock:
            at = self._open[-1] if self._open else None
            if at is None or at.used + nbytes > at.segment.size:
                at = self._take(nbytes)
            start = at.used
            at.used = -(-(start + nbytes) // _ALIGN) * _ALIGN
            return memoryview(at.lease).cast("B")[start : start + nbytes]

    def find(self, address: int, nbytes: int) -> tuple[int, int] | None:
        """Segment and offset of bytes, if they are already in a segment of the current message."""
        for at in self._open:
            offset = address - at.segment.address
            if offset >= 0 and offset + nbytes <= at.segment.size:
                at.sent = True
                return at.segment.number, offset
        return None

    def put(self, data: Any) -> tuple[int, int]:
        """Copy bytes into the message; returns segment and offset."""
        block = np.frombuffer(self.reserve(len(data)), np.uint8)
        block[:] = np.frombuffer(data, np.uint8)
        found = self.find(block.ctypes.data, len(data))
        assert found is not None
        return found

    def finish(self) -> tuple[list[tuple[int, int, int]], list[int]]:
        """Hand the message's segments to the reader: (number, size, descriptor) of new ones, numbers of retired ones."""
        with self._lock:
            used = sum(at.used for at in self._open)
            self._hint = max(used, self._hint - self._hint // 8)
            self._messages += 1
            for at in self._open:
                at.segment.last_used = self._messages
                _trim(at)
                at.segment.flag.value = LENT if at.sent else FREE
            self._open.clear()
            if self._messages % 8 == 0:
                self._retire()
            made, self._made = self._made, []
            retired, self._retired = self._retired, []
            return made, retired

    def abandon(self) -> None:
        """Drop the current message: its segments are free again. New segments are announced with the next message."""
        with self._lock:
            for at in self._open:
                at.segment.touched = max(at.segment.touched, at.used)
            self._open.clear()

    def _take(self, nbytes: int) -> _Open:
        # As much as the last messages needed in total, so that one segment holds the whole message. The size doubles if
        # a message outgrows it, so that no message has many segments.
        need = HEADER + max(nbytes, sum(at.used for at in self._open) or self._hint)
        taken = {at.segment.number for at in self._open}
        # A small message must not take the pages of a large one: the next large message would need new ones.
        most = max(4 * need, 1 << 20)
        all_free = [s for s in self._segments.values() if need <= s.size and s.number not in taken and s.is_free()]
        fit = [s for s in all_free if s.touched <= most]
        # The one whose pages fit best, and of these the one used last: they are warm, and the others may be retired.
        segment = min(fit, key=lambda s: (abs(s.touched - need), -s.last_used)) if fit else self._make(need)
        at = _Open(segment)
        self._open.append(at)
        return at

    def _make(self, need: int) -> Segment:
        # Room for larger messages, so that messages whose size changes share segments: a page costs nothing before it is
        # written to.
        size = max(1 << (4 * need - 1).bit_length(), 1 << 16)
        fd = new_file(self._name)
        try:
            os.ftruncate(fd, size)
            segment = Segment(fd, size, self._next)
        except BaseException:
            os.close(fd)
            raise
        self._segments[segment.number] = segment
        self._made.append((segment.number, size, fd))
        self._next += 1
        return segment

    def _retire(self) -> None:
        unsent = {number for number, _, _ in self._made}
        for segment in list(self._segments.values()):
            idle = self._messages - segment.last_used > _IDLE
            if segment.number not in unsent and ((idle and segment.is_free()) or segment.is_done()):
                del self._segments[segment.number]
                self._retired.append(segment.number)

    def close(self) -> None:
        """Release all segments. Views that the reader holds stay valid."""
        with self._lock:
            for _, _, fd in self._made:
                os.close(fd)
            self._made.clear()
            self._open.clear()
            self._segments.clear()


class _Open:
    """A segment that the current message is written to."""

    __slots__ = ("lease", "segment", "sent", "used")

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.lease = segment.borrow()
        self.used = HEADER
        self.sent = False


def _trim(at: _Open) -> None:
    """Give pages back that earlier, larger messages needed: the segment may wait with this one for a long time."""
    segment = at.segment
    if segment.touched - at.used > max(at.used // 4, _TAIL):
        segment.give_back(at.used, segment.touched)
        segment.touched = at.used
    segment.touched = max(segment.touched, at.used)


class Mapped:
    """The reader's side: the announced segments of one owner, mapped."""

    def __init__(self) -> None:
        self._segments: dict[int, Segment] = {}

    def __len__(self) -> int:
        return len(self._segments)

    def learn(self, made: list[tuple[int, int]], fds: list[int], retired: list[int]) -> None:
        """Map new segments and drop retired ones."""
        for (number, size), fd in zip(made, fds, strict=True):
            try:
                self._segments[number] = Segment(fd, size, number)
            finally:
                os.close(fd)
        for number in retired:
            self._segments.pop(number, None)

    def views(self, blocks: list[tuple[int, int, int]]) -> list[memoryview]:
        """Writable views of (segment, offset, bytes). A segment is returned to its owner when its last view is gone."""
        leases: dict[int, Any] = {}
        out = []
        for number, offset, nbytes in blocks:
            if number not in leases:
                leases[number] = memoryview(self._segments[number].receive()).cast("B")
            out.append(leases[number][offset : offset + nbytes])
        return out


def address_of(view: memoryview) -> int:
    """The memory address of a view."""
    return int(np.frombuffer(view, np.uint8).ctypes.data) if view.nbytes else 0
