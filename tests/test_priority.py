"""A loader that feeds a device makes room for the training process: fewer threads, at a lower priority, and it tells."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

import infeed
from infeed import _core
from infeed.doors.loader import Loader

CPUS = infeed.usable_cpus()
HERE = os.getpriority(os.PRIO_PROCESS, 0)
LOW = min(HERE + 10, 19)


def rows(n=64):
    return infeed.arrays({"x": list(range(n))}).batch(4)


class Feeding(Loader):
    """A door to a device that this machine need not have."""

    @property
    def _feeds_device(self):
        return True


def priorities():
    """The priorities of the engine's threads in this process, by the kernel."""
    found = {}
    for task in Path("/proc/self/task").iterdir():
        name = (task / "comm").read_text().strip()
        if name.startswith(("infeed-cpu", "infeed-io")):
            found.setdefault(name.rsplit("-", 1)[0], set()).add(os.getpriority(os.PRIO_PROCESS, int(task.name)))
    return found


@pytest.mark.parametrize(
    ("door", "options", "expected"),
    [
        (Loader, {}, HERE),
        (Loader, {"priority": "low"}, LOW),
        (Feeding, {}, LOW),
        (Feeding, {"priority": "normal"}, HERE),
    ],
)
def test_only_threads_of_the_engine_are_lowered(door, options, expected):
    with door(rows(), threads=2, **options) as loader:
        assert sum(len(batch["x"]) for batch in loader) == 64
        assert priorities() == {"infeed-cpu": {expected}, "infeed-io": {expected}}
        assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == HERE
        assert loader.stats()["priority"] == ("low" if expected == LOW else "normal")


def test_cpus_are_left_to_training():
    left = _core.left_for_training(CPUS)
    assert [_core.left_for_training(n) for n in (1, 2, 3, 4, 7, 8, 16, 128)] == [0, 0, 0, 1, 1, 2, 2, 2]
    plain, feeding = Loader(rows()), Feeding(rows())
    assert (plain.stats()["threads"], feeding.stats()["threads"]) == (CPUS, CPUS - left)
    assert f"threads {CPUS - left} on {CPUS} CPUs, at low priority" in feeding.explain()
    assert f"threads {CPUS} on {CPUS} CPUs, at normal priority" in plain.explain()
    assert Feeding(rows(), threads=CPUS).stats()["threads"] == CPUS


def test_an_unknown_priority_is_refused():
    with pytest.raises(ValueError, match="priority must be"):
        Loader(rows(), priority="high")


def see(sample):
    return sample | {"nice": os.getpriority(os.PRIO_PROCESS, 0)}


@pytest.mark.parametrize(("workers", "expected"), [("processes", LOW), ("threads", HERE), ("consumer", HERE)])
def test_of_the_workers_only_processes_are_lowered(workers, expected):
    """A thread that holds the GIL must not wait for a core while the training thread waits for the GIL."""
    with Feeding(rows(8).map(see), workers=workers, num_workers=2) as loader:
        assert {int(nice) for batch in loader for nice in batch["nice"]} == {expected}


def test_doors_know_whether_they_feed_a_device():
    torch = pytest.importorskip("torch")
    jax = pytest.importorskip("jax")
    assert rows().to_torch().stats()["priority"] == "normal"
    assert rows().to_torch(device="cpu").stats()["priority"] == "normal"
    if torch.cuda.is_available():
        assert rows().to_torch(device="cuda").stats()["priority"] == "low"
    here = jax.devices("cpu")[0]
    assert rows().to_jax(device=here).stats()["priority"] == "normal"
