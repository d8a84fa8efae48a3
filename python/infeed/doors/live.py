"""The loaders that exist: they must be closed when the process exits and paused while it forks."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import TYPE_CHECKING, Any, NoReturn

from .. import _core

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


class _Lost:
    """Stands for the core of a loader whose threads were at work when the process forked."""

    def __getattr__(self, name: str) -> NoReturn:
        raise RuntimeError(
            "the process was forked while a thread of this loader was at work and could not be paused, so its copy in the"
            " child cannot be used; make a new loader in the child, or start worker processes before iterating"
        )


def _pause_all() -> None:
    _core.close_gate()
    for loader in list(_LIVE):
        if isinstance(loader._core, _core.Loader):
            loader._core.pause()


def _go_on_all() -> None:
    for loader in list(_LIVE):
        if isinstance(loader._core, _core.Loader):
            loader._core.go_on()
    _core.open_gate()


def _begin_child() -> None:
    if _core.open_gate_in_child():
        return
    lost: Any = _Lost()
    for loader in list(_LIVE):
        loader._core = lost
        loader._runs.clear()
        _LIVE.discard(loader)


if hasattr(os, "register_at_fork"):
    # A forked child has copies of all locks, but none of the threads that would release them.
    os.register_at_fork(before=_pause_all, after_in_parent=_go_on_all, after_in_child=_begin_child)
