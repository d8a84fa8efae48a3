"""Worker processes of the drop-in DataLoader in programs that fork, reap children or look inside: as torch's."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from loaders import DataLoader, Numbers, Suicidal, theirs, torch
from pools import fds, held_segments, pool

import infeed

pytestmark = [
    # A test that hangs fails; nothing else depends on time.
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]

BOTH = pytest.mark.parametrize("loader", [theirs.DataLoader, DataLoader], ids=["torch", "infeed"])


class Child:
    """A forked process that looks at something later, when it is asked to."""

    def __init__(self, look):
        self._go = os.pipe()
        self._answer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            # A test that fails before it asks must not leave the child behind.
            signal.alarm(60)
            try:
                os.read(self._go[0], 1)
                os.write(self._answer[1], repr(look()).encode())
            finally:
                os._exit(0)

    def ask(self) -> str:
        os.write(self._go[1], b"x")
        os.waitpid(self.pid, 0)
        found = os.read(self._answer[0], 1 << 16).decode()
        for fd in (*self._go, *self._answer):
            os.close(fd)
        return found


@BOTH
def test_a_forked_child_keeps_its_batches(loader):
    """The child reads the batch long after this process has let go of its own."""
    children = []
    held = []
    for number, batch in enumerate(loader(Numbers(200), batch_size=4, num_workers=2)):
        held = [*held[-2:], batch]
        if number in (3, 10, 11, 30):
            children.append((number, Child(lambda held=held: [sorted(set(b.flatten().tolist())) for b in held])))
    del batch
    held.clear()
    gc.collect()
    for number, child in children:
        want = [list(range(4 * n, 4 * n + 4)) for n in range(number - 2, number + 1)]
        assert child.ask() == repr(want)


class Forking:
    """A ``collate_fn`` whose worker is forked: the child reads the batch after the worker has made others."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, samples):
        batch = theirs.default_collate(samples)
        first = int(batch[0, 0])
        if first == 8:
            fifo = self.folder / "go"
            if os.fork() == 0:
                signal.alarm(60)
                with open(fifo) as file:
                    file.read()
                (self.folder / "seen").write_text(repr(batch[:, 0].tolist()))
                (self.folder / "done").write_text("")
                os._exit(0)
        return batch


@BOTH
def test_a_child_of_a_worker_keeps_its_batch(loader, tmp_path):
    os.mkfifo(tmp_path / "go")
    steps = iter(
        loader(Numbers(200), batch_size=4, num_workers=1, collate_fn=Forking(tmp_path), persistent_workers=True)
    )
    for _ in range(50):
        next(steps)
    (tmp_path / "go").write_text("now")
    while not (tmp_path / "done").exists():
        os.sched_yield()
    assert (tmp_path / "seen").read_text() == "[8, 9, 10, 11]"


def test_memory_of_a_fork_is_freed_and_not_used_again():
    with pool(lambda i: torch.full((20_000,), i), workers=1) as p:
        kept = {}
        for i in range(40):
            p.submit(i, i)
            kept[i] = p.result()[1]
        addresses = {tensor.data_ptr() for tensor in kept.values()}
        child = Child(lambda: [int(tensor[0]) for tensor in kept.values()])
        held = held_segments()
        kept.clear()
        again = set()
        for i in range(80):
            p.submit(i, i)
            again.add(p.result()[1].data_ptr())
            if i == 1:
                assert not again & addresses, "the child reads these"
        assert child.ask() == repr(list(range(40)))
        assert held >= 40 and held_segments() < 10, "freed in this process"
    assert held_segments() == 0


PROGRAM = """
import gc, multiprocessing, os, signal, sys, threading, warnings
import torch
from torch.utils import data as theirs
from infeed.torch import DataLoader
from infeed import WorkerDied

warnings.simplefilter("ignore")

class Numbers(theirs.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        if i == 7 and os.path.exists(sys.argv[2]):
            os._exit(3)
        return torch.full((3000,), i)

def reap(*_):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass

def watch():
    while not stop:
        multiprocessing.active_children()

def fds():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))

def children():
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return file.read().split()

def epochs(loader, count):
    for number in range(count):
        assert [int(b[0, 0]) for b in loader(Numbers(), num_workers=2)] == list(range(8))
        for batch in loader(Numbers(), num_workers=2):
            break

stop = False
mode = sys.argv[1]
for loader in (theirs.DataLoader, DataLoader):
    # torch has a SIGCHLD handler of its own: a program that comes later replaces it.
    if mode == "ignore":
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    elif mode == "reap":
        signal.signal(signal.SIGCHLD, reap)
    elif mode == "watch":
        stop = False
        thread = threading.Thread(target=watch)
        thread.start()
    epochs(loader, 1)
    before = fds()
    if mode == "threads":
        threads = [threading.Thread(target=epochs, args=(loader, 5)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:
        epochs(loader, 3 if loader is DataLoader else 0)
    if mode == "watch":
        stop = True
        thread.join()
    grown = fds() - before
    # torch leaves some of its own behind, and descriptors with them.
    left = [p for p in multiprocessing.active_children() if p.name.startswith("DataLoader")] + children()
    if loader is DataLoader and grown > 0:
        left.append(grown)
    print(loader.__module__, left or "fine")
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)

if mode in ("ignore", "reap"):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN if mode == "ignore" else reap)
    open(sys.argv[2], "w").close()
    try:
        list(DataLoader(Numbers(), num_workers=2))
    except WorkerDied as error:
        print("a death is noticed")
"""


@pytest.mark.parametrize("mode", ["ignore", "reap", "watch", "threads"])
def test_programs_that_collect_children_themselves(mode, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    path = str(Path(infeed.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, str(script), mode, str(tmp_path / "die")],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=200,
    )
    want = ["torch.utils.data.dataloader fine", "infeed.torch.dataloader fine"]
    if mode in ("ignore", "reap"):
        want.append("a death is noticed")
    assert done.stdout.splitlines() == want, done.stderr
    assert "ValueError" not in done.stderr


def test_without_descriptors_of_processes(monkeypatch):
    """Older kernels, and containers that forbid the call."""

    def refuse(*_):
        raise OSError("not implemented")

    monkeypatch.setattr(os, "pidfd_open", refuse, raising=False)
    before = fds()
    for _ in range(2):
        assert len(list(DataLoader(Numbers(), num_workers=2))) == 20
    with pytest.raises(infeed.WorkerDied, match="SIGKILL"):
        list(DataLoader(Suicidal(), num_workers=2))
    gc.collect()
    assert fds() <= before


class Leaves(Numbers):
    """The worker dies and leaves a child behind, which has copies of all of its descriptors."""

    def __getitem__(self, i):
        if i == 5:
            if os.fork() == 0:
                signal.alarm(60)
                signal.pause()
                os._exit(0)
            os._exit(9)
        return i


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_a_death_is_noticed_although_a_grandchild_lives(method):
    with pytest.raises(infeed.WorkerDied) as caught:
        list(DataLoader(Leaves(), num_workers=2, multiprocessing_context=method))
    assert caught.value.exitcode == 9
