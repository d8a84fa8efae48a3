"""Ctrl-C in a worker: it reaches the whole process group, and what it means is the consumer's decision.

A consumer that handles it and goes on gets all of its batches. A consumer that leaves ends the task in progress: it is
interrupted as it would be in the consumer, so that a worker that waits for something does not delay the end.
"""

from __future__ import annotations

import _thread
import contextlib
import select
import signal
import socket
import threading
from typing import Any

_LEFT = getattr(select, "POLLRDHUP", 0)


class Interrupt:
    """The handler of SIGINT in a worker."""

    def __init__(self, sock: socket.socket) -> None:
        self._fd = sock.fileno()
        self._watching = False
        self.is_over = False
        """The worker is about to exit: nothing is left to interrupt."""

    def __call__(self, _signal: Any = None, frame: Any = None) -> None:
        """Interrupt the task if the consumer has left, or as soon as it leaves."""
        if self.is_over:
            return
        # An exception in a finaliser is printed and lost: the signal comes again when that has ended.
        finalises = frame is not None and frame.f_code.co_name == "__del__"
        if self._has_left(0) and not finalises:
            raise KeyboardInterrupt
        if not self._watching or finalises:
            self._watching = True
            # Not threading.Thread: its locks may be held by the code that the signal has interrupted.
            _thread.start_new_thread(self._watch, ())

    def _has_left(self, timeout: float | None) -> bool:
        poll = select.poll()
        poll.register(self._fd, _LEFT)
        return bool(poll.poll(timeout))

    def _watch(self) -> None:
        with contextlib.suppress(OSError):
            self._has_left(None)
            if not self.is_over:
                # To the main thread itself, so that a system call in which it waits returns.
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
