"""A child process whose end is noticed and survived even if another part of the program collects its exit status.

A program may ignore SIGCHLD, reap all children itself, or ask for ``multiprocessing.active_children()`` in a thread. Then
``waitpid`` finds nothing, and ``multiprocessing`` takes the process for a running one for ever. So the end of a process
is read from a descriptor here, and signals are sent through it: a process id may belong to another process by then.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from typing import Any

_LATE = 1.0
"""Seconds in which the exit status of a process that has ended is there, at the latest."""
_TAKEN = 0.005
"""Seconds in which a thread that has collected the exit status tells ``multiprocessing`` about it."""


class Child:
    """A started process of :mod:`multiprocessing`."""

    def __init__(self, process: Any) -> None:
        self.process = process
        self.pid: int = process.pid
        self._pidfd = -1
        # Not the pipe that multiprocessing has: processes that the child or another thread forks keep it open.
        with contextlib.suppress(OSError, AttributeError):
            self._pidfd = os.pidfd_open(self.pid)
        self.sentinel: int = self._pidfd if self._pidfd >= 0 else process.sentinel
        """A descriptor that can be read once the process has ended."""

    def has_ended(self, wait: float = 0) -> bool:
        """Whether the process has ended, or ends within ``wait`` seconds."""
        if self.sentinel < 0:
            return True
        poll = select.poll()
        poll.register(self.sentinel, select.POLLIN)
        return bool(poll.poll(wait * 1000))

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        if self.has_ended():
            return
        with contextlib.suppress(ProcessLookupError):
            if self._pidfd >= 0:
                signal.pidfd_send_signal(self._pidfd, number)
            else:
                os.kill(self.pid, number)

    def exit_code(self) -> int | None:
        """The exit code of a process that has ended. None: something else in this program collected it."""
        if getattr(self.process._popen, "method", None) == "forkserver":
            # The server collects it and sends it.
            self.process.join(_LATE)
        begun = time.monotonic()
        while (code := self.process.exitcode) is None:
            if time.monotonic() - begun > (_TAKEN if self._is_taken() else _LATE):
                return None
            time.sleep(0.001)
        return int(code)

    def _is_taken(self) -> bool:
        try:
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        return False

    def release(self) -> None:
        """Close the descriptors of a process that has ended. The process object still says how it ended."""
        if self.sentinel < 0:
            return
        if self._pidfd >= 0:
            os.close(self._pidfd)
        self.sentinel = self._pidfd = -1
        popen = self.process._popen
        if self.exit_code() is None:
            # What subprocess does, too: it has ended, and how is not known. multiprocessing would keep it for ever.
            popen.returncode = 0
        self.process.join()
        popen.close()
