"""The peak memory of a process and its workers, as ``workers.py --memory`` measures it.

Every loader runs in a process of its own, which this one watches. Of private memory it counts the proportional set size
of the whole tree, where pages that processes share are divided by the number of sharers: nothing counts twice. Shared
memory is counted as the machine's, of which no other program should use much meanwhile. The sizes of processes do not
tell it: a batch of torch's that is on its way from a worker to the consumer is in no process.
"""

from __future__ import annotations

import contextlib
import select
import subprocess
import sys
from pathlib import Path

#: Seconds between two looks.
EVERY = 0.01

RUN = """
import gc, sys, warnings
import own_sets
warnings.simplefilter("ignore")
who, name, workers, batch = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
if who == "infeed":
    from infeed.torch import DataLoader
else:
    from torch.utils.data import DataLoader
dataset = getattr(own_sets, name)()
more = {"multiprocessing_context": "fork", "persistent_workers": True} if workers else {}
loader = DataLoader(dataset, batch, num_workers=workers, **more)
gc.collect()
print("ready", flush=True)
sys.stdin.readline()
for _ in range(2):
    for batch in loader:
        # Memory that no process has touched is in none of the counts: a consumer reads what it gets.
        (batch[0] if isinstance(batch, list) else batch).sum()
print("done", flush=True)
sys.stdin.readline()
"""


def pss(pid: int | str = "self") -> int:
    """The proportional set size of the private memory of a process: shared pages are divided by the number of sharers.

    Without pages of files: libraries are shared with other programs too, whose end would look like growth here.
    """
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss_Anon:")) * 1024


def shared() -> int:
    """Bytes of shared memory on this machine, whoever maps them or does not."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Shmem:")) * 1024


def tree(pid: int) -> list[int]:
    """A process and all processes below it."""
    found = [pid]
    for at in found:
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{at}/task").iterdir():
                found += map(int, (thread / "children").read_text().split())
    return found


def total(pid: int) -> int:
    """The memory of a tree of processes, and all shared memory."""
    sizes = [shared()]
    for at in tree(pid):
        # Processes end while they are looked at.
        with contextlib.suppress(OSError):
            sizes.append(pss(at))
    return sum(sizes)


def peak(who: str, name: str, workers: int, batch: int) -> tuple[int, int]:
    """Bytes before the first epoch, and the most during two epochs."""
    command = [sys.executable, "-c", RUN, who, name, str(workers), str(batch)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise RuntimeError(f"{who} with {name} did not start")
        others = shared()
        before = most = total(process.pid)
        process.stdin.write("\n")
        process.stdin.flush()
        while not select.select([process.stdout], [], [], EVERY)[0]:
            most = max(most, total(process.pid))
        most = max(most, total(process.pid))
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.read()
    return before - others, most - others


def measure() -> None:
    """A table of both loaders."""
    print("| peak of all processes, MB (growth while iterating) | workers | torch | infeed | ratio |")
    print("|---|---|---|---|---|")
    for name, what, batch in (
        ("Texts", "a list of 2,000,000 strings", 64),
        ("Tensors", "a list of 340 tensors", 32),
        ("Scales", "images of changing size", 32),
    ):
        for workers in (0, 2, 4):
            found = {who: peak(who, name, workers, batch) for who in ("torch", "infeed")}
            cells = [f"{most / 1e6:,.0f} ({(most - before) / 1e6:+,.0f})" for before, most in found.values()]
            ratio = found["infeed"][1] / found["torch"][1]
            print(f"| {what}, batch {batch} | {workers} | {' | '.join(cells)} | {ratio:.2f} |", flush=True)
