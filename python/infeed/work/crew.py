"""The consumer's side of workers: starting them, reporting their death, ending them."""

from __future__ import annotations

import contextlib
import os
import reprlib
import select
import signal
import socket
import time
import weakref
from typing import Any

from ..errors import WorkerDied
from .child import Child
from .parcel import Parcel
from .wire import Channel
from .worker import WorkerInfo, serve

_GRACE = 5.0
"""Seconds that a worker has to finish its current task when the pool closes."""

_channels: weakref.WeakSet[Channel] = weakref.WeakSet()


def _after_fork() -> None:
    # A forked child that kept the consumer's end of a connection would keep workers alive after the consumer died.
    for channel in list(_channels):
        channel.sock.close()


os.register_at_fork(after_in_child=_after_fork)


class Worker:
    """The consumer's side of one worker."""

    def __init__(self, info: WorkerInfo) -> None:
        self.info = info
        self.process: Any = None
        self.child: Child
        self.channel: Channel
        self.tasks: dict[int, Any] = {}
        self.deaths = 0
        self.is_victim = False
        self.is_interrupted = False
        """The consumer was interrupted while it waited: the task need not be finished when the pool closes."""

    def start(self, context: Any, parcel: Parcel, name: str) -> None:
        """Start a process for this worker, possibly in place of a dead one."""
        ours, theirs = socket.socketpair()
        try:
            ours.setblocking(False)
            channel = Channel(ours, name)
            _channels.add(channel)
            self.process = context.Process(
                target=serve, args=(theirs, parcel, self.info, name), name=f"{name}-{self.info.id}", daemon=True
            )
            self.process.start()
            self.child = Child(self.process)
        except BaseException:
            ours.close()
            self.process = None
            raise
        finally:
            theirs.close()
        self.channel = channel


_HINTS = {
    signal.SIGKILL: "often the kernel's out-of-memory killer: see the kernel's log, use fewer workers or smaller batches",
    signal.SIGSEGV: "a crash in compiled code: the worker wrote its Python stack to stderr",
    signal.SIGBUS: "memory behind a mapping is gone: a file that was truncated, or a full /dev/shm or disk",
    signal.SIGABRT: "compiled code gave up: the worker wrote its Python stack to stderr",
    signal.SIGTERM: "somebody asked it to end",
}


def death(worker: Worker, lost: dict[int, Any], pool: str) -> WorkerDied:
    """The error for a dead worker: which one, how it died, during which task, and what to check."""
    ended = worker.child.has_ended(wait=1)
    code = worker.child.exit_code() if ended else None
    if code is None:
        how = (
            "how is not known, because something else in this program collects the exit status of its children"
            if ended
            else "it closed its connection"
        )
    elif code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        how = f"killed by {name}"
        if -code in _HINTS:
            how += f" ({_HINTS[signal.Signals(-code)]})"
    else:
        how = f"it exited with code {code} (something called sys.exit or os._exit, or it could not start: see stderr)"
    task = None
    at = "while it had no task"
    if lost:
        number, what = next(iter(lost.items()))
        short = reprlib.Repr()
        short.maxother = short.maxstring = short.maxlist = 120
        task = short.repr(what)
        at = f"while it worked on task {number}: {task}"
    again = ", for the second time without a result" if worker.deaths else ""
    return WorkerDied(
        f"worker {worker.info.id} (pid {worker.process.pid}) of {pool} died{again} {at}; {how}",
        worker=worker.info.id,
        pid=worker.process.pid,
        exitcode=code,
        task=task,
    )


def end(workers: list[Worker], parcel: Parcel, pid: int) -> None:
    """Close the consumer's side of all connections and wait for the workers to exit."""
    if os.getpid() != pid:
        return
    running = [worker for worker in workers if worker.process is not None]
    for worker in running:
        with contextlib.suppress(OSError):
            # The worker reads end-of-file and exits before its next task. A full close would end it in the middle of one.
            worker.channel.sock.shutdown(socket.SHUT_WR)
        if worker.is_interrupted:
            worker.child.send(signal.SIGINT)
    _drain(running, _GRACE)
    for stop in (signal.SIGTERM, signal.SIGKILL):
        late = [worker for worker in running if not worker.child.has_ended()]
        for worker in late:
            worker.child.send(stop)
        _drain(late, 1)
    for worker in running:
        # A process that the kernel cannot end now (it waits for a dead disk) is left to it.
        if worker.child.has_ended():
            worker.child.release()
        worker.process = None
        worker.channel.close()
        worker.tasks.clear()
    parcel.close()


def _drain(workers: list[Worker], seconds: float) -> None:
    """Wait until all have exited; discards what they still send, because they would block on a full socket."""
    deadline = time.monotonic() + seconds
    poll = select.poll()
    left = {worker.child.sentinel: worker for worker in workers}
    for sentinel, worker in left.items():
        poll.register(sentinel, select.POLLIN)
        poll.register(worker.channel.fileno(), select.POLLIN)
    by_channel = {worker.channel.fileno(): worker for worker in workers}
    while left and (rest := deadline - time.monotonic()) > 0:
        for fd, _ in poll.poll(rest * 1000):
            if fd in left:
                poll.unregister(fd)
                del left[fd]
            elif not by_channel[fd].channel.pull(wait=False):
                poll.unregister(fd)
