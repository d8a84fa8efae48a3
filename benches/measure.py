"""Measurement: how the rate of any loader is measured, and what else is recorded about the run.

Rules, the same for every loader:

* The clock starts after the first batches of an epoch, so that neither start-up costs nor batches
  prefetched before the first request count for or against anyone.
* A window lasts a fixed time and may span several epochs; the pause between two epochs is not counted.
* Nothing is done with a batch. A loader that hands out views of its own memory need not copy them.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from works import Batch, Epochs

#: Batches of every epoch that pass before the clock starts.
WARM_BATCHES = 4


@dataclass
class Result:
    """One run of one loader on one work."""

    rates: list[float] = field(default_factory=list)
    samples: int = 0
    first_batch_s: float = 0.0
    peak_mb: float = 0.0
    others: float = 0.0
    out: str = ""


def describe(images: Any) -> str:
    """Type and shape of a batch of images, so that a reader can see that the loaders did the same."""
    shape = getattr(images, "shape", None)
    if shape is None:
        return f"{type(images[0]).__name__}[{len(images)}]"
    return f"{str(images.dtype).removeprefix('torch.')}{list(shape)}"


def take(batches: Iterator[Batch]) -> Batch:
    """The next batch. Raises if there is none: a loader that swallows its errors ends early."""
    for batch in batches:
        return batch
    raise RuntimeError("the epoch ended within its first batches")


def run(epochs: Epochs, *, seconds: float, repeat: int) -> Result:
    """Measure `repeat` windows of `seconds` each."""
    result = Result()
    busy, own, start = machine_busy(), tree_cpu(), time.perf_counter()
    for _ in range(repeat):
        count, spent = 0, 0.0
        while spent < seconds:
            opened = time.perf_counter()
            batches = iter(epochs())
            images = take(batches)[0]
            if not result.out:
                result.first_batch_s = time.perf_counter() - opened
                result.out = describe(images)
            for _ in range(WARM_BATCHES - 1):
                take(batches)
            begun = last = time.perf_counter()
            for batch in batches:
                count += len(batch[0])
                last = time.perf_counter()
                if spent + last - begun >= seconds:
                    break
            spent += last - begun
            if spent == 0.0:
                raise RuntimeError("nothing came after the first batches of an epoch")
            result.peak_mb = max(result.peak_mb, tree_peak_mb())
            # Workers of an abandoned epoch must exit before the next one starts, or they would compete with it.
            del batches, images
            gc.collect()
        result.rates.append(count / spent)
        result.samples += count
    wall = time.perf_counter() - start
    result.others = max(0.0, (machine_busy() - busy) - (tree_cpu() - own)) / wall
    return result


def machine_busy() -> float:
    """CPU seconds that the whole machine has been busy; 0 where /proc is missing."""
    try:
        fields = [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    except OSError:
        return 0.0
    user, nice, system, _idle, _wait, irq, soft, steal = fields
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def tree_cpu() -> float:
    """CPU seconds of this process and its children, alive or reaped."""
    tick = os.sysconf("SC_CLK_TCK")
    total = sum(os.times()[:4])
    for pid in children():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        total += sum(int(x) for x in fields[11:15]) / tick
    return total


def children(root: int | None = None) -> list[int]:
    """Living descendants of a process."""
    found: list[int] = []
    root = root or os.getpid()
    try:
        tasks = os.listdir(f"/proc/{root}/task")
    except OSError:
        return found
    for task in tasks:
        try:
            direct = [int(x) for x in Path(f"/proc/{root}/task/{task}/children").read_text().split()]
        except OSError:
            continue
        for pid in direct:
            found += [pid, *children(pid)]
    return found


def memory_mb(key: str, pid: int | str = "self") -> float:
    """A line of /proc/PID/status (VmHWM, VmRSS) in MB."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024 / 1e6
    except OSError:
        pass
    return 0.0


def tree_peak_mb() -> float:
    """Peak resident memory of this process plus its workers; shared pages count once per process."""
    return memory_mb("VmHWM") + sum(memory_mb("VmHWM", pid) for pid in children())


def pick_cpus(threads: int) -> list[int]:
    """The CPUs to pin to: one hardware thread per core first, so that two threads mean two cores."""
    allowed = sorted(os.sched_getaffinity(0))
    first: list[int] = []
    second: list[int] = []
    for cpu in allowed:
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        leader = siblings.read_text().replace("-", ",").split(",")[0].strip() if siblings.exists() else str(cpu)
        (first if leader == str(cpu) or int(leader) not in allowed else second).append(cpu)
    return (first + second)[:threads]
