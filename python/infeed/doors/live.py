"""The loaders that exist: they must be closed when the process exits and paused while it forks."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .loader import Loader

# Threads that call into Python (streams of Python iterators) must be stopped before the interpreter shuts down.
_LIVE: weakref.WeakSet[Loader] = weakref.WeakSet()


def add(loader: Loader) -> None:
    """Have a loader stopped at the end of the process, and paused while it forks."""
    _LIVE.add(loader)


@atexit.register
def _close_all() -> None:
    for loader in list(_LIVE):
        loader.close()


def _pause_all() -> None:
    for loader in list(_LIVE):
        loader._core.pause()


def _go_on_all() -> None:
    for loader in list(_LIVE):
        loader._core.go_on()


if hasattr(os, "register_at_fork"):
    # A forked child has copies of all locks, but none of the threads that would release them.
    os.register_at_fork(before=_pause_all, after_in_parent=_go_on_all)
