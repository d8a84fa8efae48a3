"""Pools for tests, and what a process has open."""

from __future__ import annotations

import os
from pathlib import Path

from infeed.work import Pool


def pool(do, workers=2, **options) -> Pool:
    return Pool(lambda info: do, workers=workers, context=options.pop("context", "fork"), **options)


def run(p: Pool, tasks) -> list:
    """Values of the tasks, in order."""
    tasks = list(tasks)
    for number, task in enumerate(tasks):
        p.submit(number, task)
    found = dict(p.result() for _ in tasks)
    return [found[i] for i in range(len(tasks))]


def fds() -> int:
    return len(os.listdir("/proc/self/fd"))


def held_segments() -> int:
    """Mapped segments of this process, by the kernel's count."""
    return sum("memfd:infeed" in line for line in Path("/proc/self/maps").read_text().splitlines())


def held_pages() -> int:
    """Bytes of segments that have pages in this process, by the kernel's count."""
    blocks = Path("/proc/self/smaps").read_text().split("VmFlags:")
    found = [block for block in blocks if "memfd:infeed" in block]
    return sum(int(block.split("Rss:")[1].split()[0]) << 10 for block in found)


def children() -> set[int]:
    """Child processes of this one."""
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def pss(pid: int | str = "self") -> int:
    """The proportional set size of a process: shared bytes are divided by the number of sharers."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) << 10
    raise AssertionError("no Pss")
