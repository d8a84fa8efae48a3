"""The loop of a worker process: receive a task, run it, send the value."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import random
import signal
import socket
import sys
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .failure import Failure
from .interrupt import Interrupt
from .parcel import Parcel
from .wire import Channel


@dataclass(frozen=True)
class WorkerInfo:
    """The identity of a worker."""

    id: int
    """From 0 to ``workers - 1``."""
    workers: int
    """The number of workers."""
    seed: int
    """The pool's seed plus ``id``: what ``random`` and torch are seeded with."""
    base_seed: int
    """The pool's seed."""


_info: WorkerInfo | None = None
_channel: Channel | None = None


def worker_info() -> WorkerInfo | None:
    """The identity of this worker; None outside a worker."""
    return _info


def allocate(shape: int | tuple[int, ...], dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """An uninitialised array. Inside a task it is in the memory that the result is sent in, so it is not copied.

    Outside a worker this is ``np.empty``. An array that is kept after its task stays valid, but holds its segment.
    """
    dtype = np.dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    nbytes = dtype.itemsize
    for length in shape:
        nbytes *= length
    if _channel is None or nbytes == 0 or dtype.hasobject:
        return np.empty(shape, dtype)
    return np.frombuffer(_channel.arena.reserve(nbytes), dtype).reshape(shape)


def set_seeds(info: WorkerInfo) -> None:
    """Seed the global generators as torch's DataLoader does: equal scripts draw equal numbers."""
    random.seed(info.seed)
    words = [info.id, info.base_seed & 0xFFFFFFFF, info.base_seed >> 32, 0]
    np.random.seed(np.random.SeedSequence(words).generate_state(4))
    torch: Any = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "manual_seed"):
        torch.manual_seed(info.seed)
        # Many workers with many threads each would oversubscribe the CPUs.
        torch.set_num_threads(1)


def serve(sock: socket.socket, parcel: Parcel, info: WorkerInfo, name: str) -> None:
    """The main function of a worker. Ends when the consumer closes its side, or at once if the consumer dies."""
    interrupt = Interrupt(sock)
    with contextlib.suppress(KeyboardInterrupt):
        try:
            signal.signal(signal.SIGINT, interrupt)
            # The consumer's SIGTERM handler does not apply to workers.
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            # Restarted: if it is on already, libraries may have replaced its handlers since.
            faulthandler.disable()
            faulthandler.enable(file=2)
            # Objects inherited by fork are never garbage here, and traversing them would copy their pages.
            gc.freeze()
            # Even in the middle of a task, and even if that holds the GIL.
            _core.exit_when_closed(sock.fileno())
            _run(Channel(sock, name), parcel, info)
        finally:
            interrupt.is_over = True


def _run(channel: Channel, parcel: Parcel, info: WorkerInfo) -> None:
    global _info, _channel
    _info = info
    set_seeds(info)
    failure = do = None
    try:
        do = parcel.open()(info)
    except Exception as error:
        failure = Failure.of(error, info.id, os.getpid())
    tasks: deque[Any] = deque()
    while not channel.ended:
        # Everything received is read before a task starts, so that a closing consumer need not wait for queued tasks.
        while channel.pull(wait=not tasks):
            while (frame := channel.next_frame()) is not None:
                tasks.append(frame)
        if channel.ended or not tasks:
            continue
        frame = tasks.popleft()
        _channel = channel
        channel.push(_answer(channel, do, frame, failure, info))
        _channel = None


def _answer(
    channel: Channel, do: Any, frame: Any, failure: Failure | None, info: WorkerInfo
) -> tuple[bytes, list[int]]:
    """Run one task; returns the frame of its value. A separate function, so that no references outlive the task."""
    number = frame[0]
    if failure is not None:
        channel.decode(frame)
        return channel.encode(number, failure)
    try:
        return channel.encode(number, do(channel.decode(frame)))
    except Exception as error:
        channel.arena.abandon()
        return channel.encode(number, Failure.of(error, info.id, os.getpid()))
