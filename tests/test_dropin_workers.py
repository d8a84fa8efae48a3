"""Worker processes of the drop-in DataLoader in programs that fork, reap children or look inside: as torch's."""

from __future__ import annotations

import gc
import os
import signal

import pytest
from loaders import DataLoader, Numbers, theirs, torch
from pools import held_segments, pool

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
            children.append((number, Child(lambda: [sorted(set(b.flatten().tolist())) for b in held])))
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
    steps = iter(loader(Numbers(200), batch_size=4, num_workers=1, collate_fn=Forking(tmp_path), persistent_workers=True))
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
            number, kept[i] = p.result()
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
