"""Clean ends at any moment: no thread left behind, no hang, no noise."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import infeed
from infeed import transforms as T

pytestmark = pytest.mark.timeout(120)


def threads() -> list[str]:
    """Names of the loader's threads in this process."""
    names = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as f:
                names.append(f.read().strip())
        except FileNotFoundError:
            pass
    # Those of remote stores belong to the process and stay.
    return [n for n in names if n.startswith("infeed") and n != "infeed-net"]


def gone() -> bool:
    """Whether the loader's threads are gone. They are joined, but the kernel lists a task a moment longer than that."""
    for _ in range(100):
        if not threads():
            return True
        time.sleep(0.02)
    return False


def loader(shards, **options):
    return infeed.open(shards).decode(jpg="rgb").map(T.Resize((64, 64))).batch(2).to_numpy(threads=3, **options)


def test_break(shards):
    for _ in loader(shards):
        assert threads()
        break
    gc.collect()
    assert gone()


def test_exception_in_the_body(shards):
    with pytest.raises(KeyError):
        for _ in loader(shards):
            raise KeyError
    gc.collect()
    assert gone()


def test_garbage_collection(shards):
    it = iter(loader(shards))
    next(it)
    assert threads()
    del it
    gc.collect()
    assert gone()


def test_close_and_context_manager(shards):
    with loader(shards) as running:
        it = iter(running)
        next(it)
    assert gone()
    assert list(it) == []


def test_end_of_epoch(shards):
    running = loader(shards, persistent=False)
    list(running)
    assert gone()
    assert len(list(running)) == 25


def test_threads_wait_for_the_next_epoch(shards):
    running = loader(shards)
    for _ in range(3):
        assert len(list(running)) == 25
        assert threads(), "they prepare the next epoch"
    running.close()
    assert gone()
    assert len(list(running)) == 25
    del running
    gc.collect()
    assert gone()


def test_two_at_once_and_from_threads(shards):
    counts = []
    work = [threading.Thread(target=lambda: counts.append(len(list(loader(shards))))) for _ in range(4)]
    pairs = list(zip(loader(shards), loader(shards), strict=True))
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert counts == [25] * 4 and len(pairs) == 25
    assert gone()


SCRIPT = """
    import os, sys, time, infeed
    from infeed import transforms as T
    pipe = infeed.open(sys.argv[1]).decode(jpg="rgb").map(T.Resize((64, 64))).batch(2)
    loader = pipe.to_numpy(threads=2)
    {body}
"""


def run(shards, body: str, **kwargs) -> subprocess.Popen:
    script = textwrap.dedent(SCRIPT).replace("{body}", textwrap.dedent(body))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    _STARTED.append(subprocess.Popen([sys.executable, "-c", script, shards], **pipes, **kwargs))
    return _STARTED[-1]


_STARTED: list[subprocess.Popen] = []


@pytest.fixture(autouse=True)
def nothing_lives_on():
    """A process that did not end, which fails its test, must not fail the ones after it."""
    yield
    while _STARTED:
        with _STARTED.pop() as process:
            process.kill()


def test_interpreter_exit_in_the_middle(shards):
    out, err = (p := run(shards, "it = iter(loader); next(it); print('done')")).communicate(timeout=60)
    assert (p.returncode, out, err) == (0, "done\n", "")


def test_ctrl_c(shards):
    """An endless loop is interrupted, and the process ends as it would without a loader."""
    body = """
    import itertools
    print("ready", flush=True)
    try:
        for i in itertools.count():
            for batch in loader:
                pass
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    """
    p = run(shards, body)
    assert p.stdout.readline() == "ready\n"
    time.sleep(0.5)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=30)
    assert (p.returncode, out) == (0, "interrupted\n"), err


def test_fork_while_running(shards):
    """A child that uses the parent's iteration gets an error; its own works; nothing hangs."""
    body = """
    import warnings
    warnings.simplefilter("ignore")
    it = iter(loader)
    next(it)
    pid = os.fork()
    if pid == 0:
        try:
            next(it)
        except ValueError as error:
            assert "forked" in str(error), error
        else:
            os._exit(3)
        os._exit(0 if len(list(loader)) == 25 else 4)
    _, status = os.waitpid(pid, 0)
    print(os.waitstatus_to_exitcode(status), len(list(it)))
    """
    out, err = run(shards, body).communicate(timeout=60)
    assert out == "0 24\n", (out, err)


def test_fork_between_epochs(shards):
    """Threads that wait for the next epoch stay in the parent; the child gets its own."""
    body = """
    import warnings
    warnings.simplefilter("ignore")
    first = len(list(loader))
    pid = os.fork()
    if pid == 0:
        os._exit(0 if (len(list(loader)), loader.state_dict()["epoch"]) == (25, 2) else 4)
    _, status = os.waitpid(pid, 0)
    print(os.waitstatus_to_exitcode(status), first, len(list(loader)))
    """
    out, err = run(shards, body).communicate(timeout=60)
    assert out == "0 25 25\n", (out, err)


def test_files_and_threads_stay_flat(shards):
    running = loader(shards)
    list(running)
    before, tasks = len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
    for _ in range(20):
        list(running)
    assert len(os.listdir("/proc/self/fd")) <= before
    assert len(os.listdir("/proc/self/task")) <= tasks
