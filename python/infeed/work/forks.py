"""Forks of this process, counted.

A forked child has copies of all views of shared memory, and nothing tells when it lets go of them. So memory that was in
use during a fork is not used again. That costs something only where a fork happens: a segment is freed instead of reused.
"""

from __future__ import annotations

import os
import threading


class _Forks:
    __slots__ = ("begun", "lock", "running")

    def __init__(self) -> None:
        self.begun = 0
        self.running = 0
        self.lock = threading.Lock()

    def before(self) -> None:
        with self.lock:
            self.begun += 1
            self.running += 1

    def after_in_parent(self) -> None:
        with self.lock:
            self.running -= 1

    def after_in_child(self) -> None:
        # Another thread of the parent may have held the lock during the fork.
        self.lock = threading.Lock()
        self.running = 0


_forks = _Forks()
os.register_at_fork(
    before=_forks.before, after_in_parent=_forks.after_in_parent, after_in_child=_forks.after_in_child
)


def stamp() -> int:
    """The present, for :func:`forked_since`."""
    # Another thread may be between the hook and the fork itself: what is taken now is in use during that fork.
    return -1 if _forks.running else _forks.begun


def forked_since(stamp: int) -> bool:
    """Whether this process may have been forked since."""
    return _forks.begun != stamp
