"""What programs see of the workers of the drop-in DataLoader: signals, words, attributes, samplers. As with torch's."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from loaders import DataLoader, Numbers, theirs, torch

import infeed

pytestmark = [
    # A test that hangs fails; nothing else depends on time.
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]

BOTH = pytest.mark.parametrize("loader", [theirs.DataLoader, DataLoader], ids=["torch", "infeed"])
OURS = {"native": False}

# Worker 0 waits for ever in its second sample. The consumer is interrupted once that has begun.
STUCK = """
import os, sys, time, warnings
from torch.utils import data as theirs
from infeed.torch import DataLoader

warnings.simplefilter("ignore")

class Stuck(theirs.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        if i == 2:
            # One write: other processes write here, too.
            os.write(1, b"stuck\\n")
            try:
                time.sleep(1000)
            except KeyboardInterrupt:
                print("interrupted in the worker", flush=True)
                raise
        return i

loader = {"torch": theirs.DataLoader, "infeed": DataLoader}[sys.argv[1]]
for batch in loader(Stuck(), num_workers=2):
    os.write(1, b"%d\\n" % int(batch))
"""


@pytest.mark.parametrize("kind", ["torch", "infeed", "infeed, only the consumer"])
def test_an_interrupt_ends_a_stuck_worker(kind, tmp_path):
    """The task itself is interrupted: the consumer does not wait for its end, nor kill the worker after a while."""
    script = tmp_path / "stuck.py"
    script.write_text(STUCK)
    program = subprocess.Popen(
        [sys.executable, str(script), kind.split(",")[0]],
        env={**os.environ, "PYTHONPATH": str(Path(infeed.__file__).parent.parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        # Two batches come, and then the consumer waits.
        assert sorted(program.stdout.readline() for _ in range(3)) == ["0\n", "1\n", "stuck\n"]
        time.sleep(1)
        if "only" in kind:
            program.send_signal(signal.SIGINT)
        else:
            # As a terminal does it.
            os.killpg(program.pid, signal.SIGINT)
        out, err = program.communicate(timeout=120)
    finally:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)
    assert out == "interrupted in the worker\n"
    assert err.rstrip().endswith("KeyboardInterrupt") and program.returncode != 0


def test_an_interrupt_that_the_consumer_handles_costs_no_batch():
    class Interrupting(Numbers):
        def __getitem__(self, i):
            if i == 3:
                os.kill(os.getpid(), signal.SIGINT)
            return i

    assert [int(b) for b in DataLoader(Interrupting(), num_workers=2)] == list(range(20))


class Shared(theirs.Dataset):
    def __init__(self):
        self.seen = torch.zeros(5000).share_memory_()

    def __len__(self):
        return 4

    def __getitem__(self, i):
        self.seen[i] += i + 1
        return i


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_shared_tensors_stay_shared(method):
    found = []
    for loader in (theirs.DataLoader, DataLoader):
        data = Shared()
        list(loader(data, num_workers=2, multiprocessing_context=method))
        found.append(data.seen[:5].tolist())
    assert found[0] == found[1] == [1, 2, 3, 4, 0]


class Adaptive(theirs.Sampler):
    """Chooses by what the loop has told it."""

    def __init__(self):
        self.next = 0
        self.given = 0

    def __iter__(self):
        for _ in range(16):
            self.given += 1
            yield self.next % 20


@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": 0},
        {"num_workers": 1},
        {"num_workers": 2},
        {"num_workers": 2, "prefetch_factor": 3},
        {"num_workers": 2, "batch_size": 3},
        {"num_workers": 2, "persistent_workers": True},
    ],
    ids=str,
)
def test_samplers_are_read_as_far_ahead_as_torch_reads_them(options):
    found = []
    for loader, more in ((theirs.DataLoader, {}), (DataLoader, OURS)):
        sampler = Adaptive()
        running = loader(Numbers(), sampler=sampler, **options, **more)
        seen = []
        for _ in range(2):
            for batch in running:
                seen.append((batch[:, 0].tolist(), sampler.given))
                sampler.next += 1
        found.append(seen)
    assert found[0] == found[1]


def test_two_passes_at_once_over_persistent_workers():
    found = []
    for loader in (theirs.DataLoader, DataLoader):
        running = loader(Numbers(), num_workers=2, persistent_workers=True)
        pairs = [[(int(a[0, 0]), int(b[0, 0])) for a, b in zip(running, running, strict=False)] for _ in range(2)]
        found.append((pairs, iter(running) is iter(running)))
    assert found[0] == found[1]


# A program of its own: torch raises from a signal handler, at any later moment, too.
DYING = """
import os, signal, sys, warnings
from torch.utils import data as theirs
from infeed.torch import DataLoader

warnings.simplefilter("ignore")

class Dying(theirs.Dataset):
    def __len__(self):
        return 20
    def __getitem__(self, i):
        if i == 5:
            os._exit(3) if sys.argv[1] == "exit" else os.kill(os.getpid(), signal.SIGKILL)
        return i

try:
    list(DataLoader(Dying(), num_workers=2))
except RuntimeError as error:
    print(error, flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("how", ["signal", "exit"])
def test_words_for_a_dead_worker(how, tmp_path):
    """Those of torch, which says them only if it hears of the death before it loses a connection to the worker."""
    script = tmp_path / "dying.py"
    script.write_text(DYING)
    path = str(Path(infeed.__file__).parent.parent)
    command = [sys.executable, str(script), how]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=200
    )
    assert re.search(r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly", done.stdout), done.stderr
    rest = "is killed by signal: Killed" if how == "signal" else "exited unexpectedly with exit code 3"
    assert re.search(rf"DataLoader worker \(pid \d+\) {rest}\.", done.stdout)


@BOTH
def test_words_for_what_cannot_be_pickled(loader):
    class Local(Numbers):
        pass

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises((AttributeError, TypeError)):
            list(loader(Local(), num_workers=1, multiprocessing_context="spawn"))
    assert any("Got pickle error when attempting to start a worker Process" in str(w.message) for w in told)


@BOTH
def test_frameworks_find_the_workers(loader):
    running = loader(Numbers(), num_workers=2, persistent_workers=True)
    steps = iter(running)
    next(steps)
    assert isinstance(steps, theirs.dataloader._MultiProcessingDataLoaderIter) and running._iterator is steps
    workers = steps._workers
    assert len(workers) == 2 and all(w.is_alive() and w.daemon and w.pid != os.getpid() for w in workers)
    assert steps._prefetch_factor == 2 and steps._workers_status == [True, True] and not steps._shutdown
    steps._shutdown_workers()
    steps._shutdown_workers()
    assert steps._shutdown and [w.is_alive() for w in workers] == [False, False]
    assert [w.exitcode for w in workers] == [0, 0] and steps._workers == workers
    running._iterator = None
    assert len(list(running)) == 20, "another pass starts other workers"


STARTED = -1


def note_start(worker):
    global STARTED
    info = theirs.get_worker_info()
    assert info.id == worker and isinstance(info.dataset, Told)
    info.dataset.told = f"told by {worker}"
    STARTED = worker


class Told(theirs.Dataset):
    told = ""

    def __len__(self):
        return 6

    def __getitem__(self, i):
        info = theirs.get_worker_info()
        return {
            "index": i,
            "worker": (info.id, info.num_workers, info.seed, torch.initial_seed()),
            "same": info.dataset is self,
            "told": self.told,
            "started": STARTED,
            "info": re.sub(r" at 0x\w+", "", repr(info)),
        }


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_worker_info_and_worker_init_fn(method):
    found = []
    for loader in (theirs.DataLoader, DataLoader):
        torch.manual_seed(4)
        options = {"batch_size": None, "num_workers": 2, "multiprocessing_context": method}
        found.append(list(loader(Told(), worker_init_fn=note_start, **options)))
    assert found[0] == found[1]
    assert [row["started"] for row in found[1]] == [0, 1, 0, 1, 0, 1] and theirs.get_worker_info() is None
