"""Messages between two processes over a Unix socket; arrays are in shared segments.

A frame is a length, a count of file descriptors and a body. The body has the location of the pickle (in the body if it
is short, else in a segment), of the blocks of the arrays, and lists new and retired segments.
"""

from __future__ import annotations

import io
import marshal
import os
import pickle
import socket
import struct
from collections import deque
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from . import tensors
from .arena import Arena, Mapped, address_of

SMALL = 1024
"""Arrays below this many bytes stay inside the pickle."""
_SHORT = 16 * 1024
"""Longer pickles go into a segment, so that the socket's buffer always has room."""
_FRAME = struct.Struct("<II")
_FDS_ROOM = socket.CMSG_SPACE(253 * 4)
_CLOEXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


class _Blocks:
    """Collects the out-of-band buffers of one pickle."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.blocks: list[tuple[int, int, int]] = []

    def add(self, buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < SMALL:
            return True
        number, offset = self.arena.find(address_of(raw), raw.nbytes) or self.arena.put(raw)
        self.blocks.append((number, offset, raw.nbytes))
        return False


class _Pickler(ForkingPickler):
    def __init__(self, file: io.BytesIO, blocks: _Blocks) -> None:
        super().__init__(file, 5, True, blocks.add)
        self._arena = blocks.arena

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is np.ndarray:
            # NumPy pickles non-contiguous arrays in band; packing them into the segment saves two copies. What arrives is
            # a copy: its owner may write to it, even if the original was read-only.
            flags = obj.flags
            gaps = not (flags.c_contiguous or flags.f_contiguous)
            if not flags.writeable and obj.nbytes < SMALL:
                return obj.copy(order="K").__reduce_ex__(5)
            if (gaps or not flags.writeable) and obj.nbytes >= SMALL and not obj.dtype.hasobject:
                packed: Any = np.frombuffer(self._arena.reserve(obj.nbytes), obj.dtype).reshape(obj.shape)
                packed[...] = obj
                return packed.__reduce_ex__(5)
        elif tensors.is_tensor(obj):
            return tensors.reduce(obj, self._arena.reserve)
        return NotImplemented


class Channel:
    """One end of a connection. Keeps the segments of both ends."""

    def __init__(self, sock: socket.socket, name: str = "infeed") -> None:
        self.sock = sock
        self.arena = Arena(name)
        self.mapped = Mapped()
        self._inbox = bytearray()
        self._fds: deque[int] = deque()
        self._outbox: deque[tuple[bytes, list[int]]] = deque()
        self.ended = False

    def fileno(self) -> int:
        """For ``select`` and similar functions."""
        return self.sock.fileno()

    # Sending

    def encode(self, number: int, value: Any) -> tuple[bytes, list[int]]:
        """A frame and its file descriptors. Arrays are copied into segments, unless they are in one already."""
        blocks = _Blocks(self.arena)
        file = io.BytesIO()
        try:
            _Pickler(file, blocks).dump(value)
            data: bytes | None = file.getvalue()
            if data is not None and len(data) > _SHORT:
                where = self.arena.put(data)
                blocks.blocks.append((*where, len(data)))
                data = None
        except BaseException:
            self.arena.abandon()
            raise
        made, retired = self.arena.finish()
        fds = [fd for _, _, fd in made]
        body = marshal.dumps((number, data, blocks.blocks, [(n, size) for n, size, _ in made], retired))
        return _FRAME.pack(len(body), len(fds)) + body, fds

    def push(self, frame: tuple[bytes, list[int]]) -> None:
        """Queue a frame and send as much as the socket accepts now."""
        self._outbox.append(frame)
        self.flush()

    @property
    def has_backlog(self) -> bool:
        """Whether frames wait for room in the socket."""
        return bool(self._outbox)

    def flush(self) -> None:
        """Send queued frames. A blocking socket sends all; a broken one drops them: the death is reported elsewhere."""
        while self._outbox:
            data, fds = self._outbox[0]
            try:
                sent = socket.send_fds(self.sock, [data], fds) if fds else self.sock.send(data)
            except BlockingIOError:
                return
            except OSError:
                self.ended = True
                self._drop()
                return
            for fd in fds:
                os.close(fd)
            if sent < len(data):
                self._outbox[0] = (data[sent:], [])
            else:
                self._outbox.popleft()

    # Receiving

    def pull(self, *, wait: bool) -> bool:
        """Read available data, or wait for some. False if there was none."""
        flags = _CLOEXEC | (0 if wait else socket.MSG_DONTWAIT)
        try:
            # Not socket.recv_fds: it ignores the flags.
            data, extra, _, _ = self.sock.recvmsg(1 << 16, _FDS_ROOM, flags)
        except BlockingIOError:
            return False
        except OSError:
            data, extra = b"", []
        for level, kind, found in extra:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self._fds.extend(memoryview(found[: len(found) // 4 * 4]).cast("i"))
        if not data:
            self.ended = True
            return False
        self._inbox += data
        return True

    def next_frame(self) -> Any:
        """The next complete frame, or None."""
        if len(self._inbox) < _FRAME.size:
            return None
        length, count = _FRAME.unpack_from(self._inbox)
        end = _FRAME.size + length
        if len(self._inbox) < end:
            return None
        number, data, blocks, made, retired = marshal.loads(bytes(self._inbox[_FRAME.size : end]))
        del self._inbox[:end]
        self.mapped.learn(made, [self._fds.popleft() for _ in range(count)], retired)
        return number, data, blocks

    def decode(self, frame: Any) -> Any:
        """The value of a frame; its arrays are views of the sender's segments."""
        _, data, blocks = frame
        views = self.mapped.views(blocks)
        if data is None:
            data = views.pop()
        return pickle.loads(data, buffers=views)

    def leave(self) -> None:
        """Close the connection. Frames that were read can still be decoded."""
        self.sock.close()
        self._drop()
        self.arena.close()

    def close(self) -> None:
        """Close the connection and drop everything. Values that were decoded stay valid."""
        self.leave()
        self.mapped = Mapped()

    def _drop(self) -> None:
        for _, fds in self._outbox:
            for fd in fds:
                os.close(fd)
        self._outbox.clear()
        while self._fds:
            os.close(self._fds.popleft())
