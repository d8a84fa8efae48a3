"""Clean ends of the delivery thread: slow sources, processes that end or fork, Ctrl-C."""

from __future__ import annotations

import itertools
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import infeed

pytest.importorskip("torch")
pytestmark = pytest.mark.timeout(120)


def workers() -> int:
    return sum(thread.name == "infeed-delivery" for thread in threading.enumerate())


def test_slow_source_can_be_left():
    """The thread waits for a row that is late; leaving the loop waits for that row, and for nothing else."""
    calls, late, block = itertools.count(), threading.Event(), threading.Event()

    def rows():
        call = next(calls)
        for i in range(4):
            yield {"x": np.array([call, i])}
        # Not the first: rows that planning has looked at are used again.
        if call == 8:
            late.set()
            assert block.wait(60)

    loader = infeed.stream(rows).batch(2).to_torch(device="cpu")
    running = iter(loader)
    while (batch := next(running, None)) is None or batch["x"].tolist() != [[8, 0], [8, 1]]:
        running = running if batch is not None else iter(loader)
    assert late.wait(60) and workers() == 1
    threading.Timer(0.3, block.set).start()
    running.close()
    assert block.is_set() and workers() == 0


@pytest.mark.parametrize("how", ["exit", "error", "fork"])
def test_ends_of_processes(how):
    code = f"""
    import os, sys, numpy as np, infeed
    loader = infeed.arrays(x=np.arange(5000)).batch(2).to_torch(device="cpu")
    running = iter(loader)
    next(running)
    if {how!r} == "error":
        raise SystemExit(3)
    if {how!r} == "fork":
        child = os.fork()
        if child == 0:
            try:
                next(running)
            except ValueError as error:
                assert "forked" in str(error)
                fresh = iter(infeed.arrays(x=np.arange(6)).batch(2).to_torch(device="cpu"))
                assert [b["x"].tolist() for b in fresh] == [[0, 1], [2, 3], [4, 5]]
                os._exit(7)
            os._exit(8)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert next(running)["x"].tolist() == [2, 3]
    print("end")
    """
    options = ["-W", "ignore::DeprecationWarning"]
    done = subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == (3 if how == "error" else 0), done.stderr
    assert done.stderr == ""


def test_interrupt():
    """Ctrl-C interrupts waiting for a batch."""
    code = """
    import os, signal, threading, numpy as np, infeed
    calls, seen, answers = 0, threading.Event(), []

    def rows():
        global calls
        calls += 1
        for i in range(3):
            yield {"x": np.full(3, i)}
        if calls == 8:
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            answers.append(seen.wait(60))

    def interrupt(*_):
        seen.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    loader = infeed.stream(rows).batch(2).to_torch(device="cpu")
    try:
        while True:
            for batch in loader:
                pass
    except KeyboardInterrupt:
        print("interrupted", answers)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout == "interrupted [True]\n", done.stdout + done.stderr
