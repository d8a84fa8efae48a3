"""Lifetime of loaders: many epochs, forks, spawned children, notebooks, loaders in threads, Python functions."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import infeed
from infeed import transforms as T

pytestmark = pytest.mark.timeout(300)


def double(sample):
    return {"x": sample["x"] * 2}


def images(shards):
    return infeed.open(shards).shuffle(seed=1).decode(jpg="rgb").map(T.RandomResizedCrop(16), on="jpg").batch(25)


def numbers():
    return infeed.arrays(x=np.arange(24.0).reshape(12, 2)).shuffle(seed=1)


def resident() -> int:
    """Memory of this process that is not shared with files, in KiB."""
    with open("/proc/self/smaps_rollup") as file:
        found = dict(line.split(":") for line in file if ":" in line and "-" not in line.split(":")[0])
    return int(found["Anonymous"].split()[0])


KINDS = {
    "native": lambda shards: images(shards).to_numpy(threads=2),
    "torch": lambda shards: images(shards).to_torch(threads=2),
    "threads": lambda shards: numbers().map(double).batch(4).to_numpy(workers="threads", num_workers=2),
    "processes": lambda shards: numbers().map(double).batch(4).to_numpy(workers="processes", num_workers=2),
    "left early": lambda shards: images(shards).to_numpy(threads=2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_200_epochs_are_flat(kind, shards):
    """Threads, file descriptors, children and memory do not grow with epochs."""

    def epochs(count):
        for _ in range(count):
            for batch in loader:
                assert batch
                if kind == "left early":
                    break

    def now():
        gc.collect()
        children = subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True, text=True).stdout.split()
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), len(children)

    with KINDS[kind](shards) as loader:
        epochs(40)
        before, memory = now(), resident()
        epochs(160)
        after, grown = now(), resident() - memory
    # A thread that is joined is listed a moment longer, and one fewer may run than when it was counted first.
    assert all(b <= a + (1 if kind == "left early" else 0) for a, b in zip(before, after, strict=True)), (
        before,
        after,
    )
    assert grown < 4096, f"{grown} KiB in 160 epochs"


def test_a_hundred_loaders_one_after_the_other(shards):
    """Loaders that are never closed, as in a notebook whose cell is run repeatedly."""
    for _ in range(5):
        loader = images(shards).to_numpy(threads=2)
        next(iter(loader))
    gc.collect()
    tasks, files = len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))
    for _ in range(100):
        loader = images(shards).to_numpy(threads=2)
        next(iter(loader))
    del loader
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= files
    assert len(os.listdir("/proc/self/task")) <= tasks + 1


def test_loaders_in_threads_with_functions():
    found = []

    def work(kind):
        with numbers().map(double).batch(5).to_numpy(workers=kind, num_workers=2) as loader:
            found.append(sum(float(b["x"].sum()) for _ in range(3) for b in loader))

    threads = [threading.Thread(target=work, args=(kind,)) for kind in ("threads", "processes", "consumer") * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [3 * 2 * float(np.arange(24.0).sum())] * 6


SCRIPT = """
    import os, sys, infeed, multiprocessing, warnings
    import numpy as np
    warnings.simplefilter("ignore")

    def double(sample):
        return {"x": sample["x"] * 2}

    def pipe():
        return infeed.arrays(x=np.arange(24.0).reshape(12, 2)).map(double).batch(4)

    def count(loader):
        return len(list(loader))

    if __name__ == "__main__":
    {body}
"""


def run(tmp_path, body: str) -> tuple[int, str, str]:
    script = tmp_path / "script.py"
    lines = textwrap.indent(textwrap.dedent(body), "    ")
    script.write_text(textwrap.dedent(SCRIPT).replace("{body}", lines.strip("\n").removeprefix("")))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("kind", ["threads", "processes", "consumer"])
def test_exit_in_the_middle_is_silent(kind, tmp_path):
    body = f"""
    loader = pipe().to_numpy(workers={kind!r}, num_workers=2)
    batches = iter(loader)
    next(batches)
    print("done")
    """
    assert run(tmp_path, body) == (0, "done\n", "")


@pytest.mark.parametrize("kind", ["threads", "processes", "consumer"])
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_loader_in_a_child(kind, method, tmp_path):
    """Used here first, then in a child, by fork or pickled."""
    body = f"""
    loader = pipe().to_numpy(workers={kind!r}, num_workers=2)
    here = count(loader)
    context = multiprocessing.get_context({method!r})
    with context.Pool(1) as pool:
        there = pool.apply(count, (pipe().to_numpy(workers="threads" if {kind!r} == "processes" else {kind!r}),))
    child = context.Process(target=count, args=(loader,)) if {kind!r} != "processes" else None
    if child is not None:
        child.start()
        child.join()
        assert child.exitcode == 0, child.exitcode
    print(here, there, count(loader))
    """
    code, out, err = run(tmp_path, body)
    assert (code, out) == (0, "3 3 3\n"), err


def test_fork_in_the_middle_with_functions(tmp_path):
    """The child releases the parent's workers and creates its own."""
    body = """
    for kind in ("threads", "processes"):
        loader = pipe().to_numpy(workers=kind, num_workers=2)
        batches = iter(loader)
        next(batches)
        pid = os.fork()
        if pid == 0:
            code = 4
            try:
                code = 0 if count(pipe().to_numpy(workers=kind, num_workers=2)) == 3 else 3
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), len(list(batches)))
    """
    code, out, err = run(tmp_path, body)
    assert (code, out) == (0, "0 2\n0 2\n"), err


def test_forks_while_threads_are_at_work(shards, tmp_path):
    """A fork at any moment: no child finds a lock that a thread of its parent holds."""
    body = f"""
    from infeed import transforms as T
    data = infeed.open({shards!r}).shuffle(seed=1).decode(jpg="rgb").map(T.RandomResizedCrop(16), on="jpg").batch(5)
    loader = data.to_numpy(threads=3, endless=True)
    batches = iter(loader)
    for _ in range(60):
        next(batches)
        pid = os.fork()
        if pid == 0:
            code = 4
            try:
                code = 0 if len(next(iter(loader))["jpg"]) == 5 and count(data.to_numpy(threads=2)) == 10 else 3
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0, status
    print("done")
    """
    assert run(tmp_path, body)[:2] == (0, "done\n")


def test_ctrl_c_and_again(tmp_path):
    """An interrupted cell of a notebook: the next run of it works, and the end of the kernel is silent."""
    body = """
    import signal, threading
    for kind in ("threads", "processes", "consumer"):
        loader = pipe().to_numpy(workers=kind, num_workers=2, endless=True)
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            for batch in loader:
                pass
        except KeyboardInterrupt:
            print("interrupted")
        print(next(iter(loader))["x"].shape)
    """
    code, out, err = run(tmp_path, body)
    assert (code, out, err) == (0, "interrupted\n(4, 2)\n" * 3, "")


def test_pipelines_with_functions_pickle():
    pipe = numbers().map(double).batch(4)
    again = pickle.loads(pickle.dumps(pipe))
    np.testing.assert_array_equal(next(iter(again.to_numpy()))["x"], next(iter(pipe.to_numpy()))["x"])
    loader = pipe.to_numpy()
    next(iter(loader))
    moved = pickle.loads(pickle.dumps(loader))
    assert moved.state_dict() == loader.state_dict()


def test_forks_while_other_threads_consume(tmp_path):
    """Children that use the loader, another one, or none, and leave by sys.exit: none finds a lock that is held."""
    body = """
    import threading
    with infeed.ShardWriter("t-%d.tar", maxcount=500) as out:
        for i in range(500):
            out.write({"__key__": f"{i:04}", "txt": "x" * 3000})
    data = infeed.tar("t-*.tar", index="off").shuffle(seed=1).batch(8)
    loader, other = data.to_numpy(threads=2, endless=True), data.to_numpy(threads=1)
    over = threading.Event()

    def consume():
        for batch in loader:
            if over.is_set():
                return

    threads = [threading.Thread(target=consume) for _ in range(2)]
    for thread in threads:
        thread.start()
    for n in range(120):
        pid = os.fork()
        if pid == 0:
            signal.alarm(60)
            if n % 3 < 2:
                assert len(next(iter((loader, other)[n % 3]))["txt"]) == 8
            if n % 2:
                os._exit(0)
            sys.exit(0)
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0, (n, status)
    over.set()
    for thread in threads:
        thread.join()
    print("done")
    """
    code, out, err = run(tmp_path, f"import signal\nos.chdir({str(tmp_path)!r})\n" + textwrap.dedent(body))
    assert (code, out) == (0, "done\n"), err


def test_a_fork_waits_for_a_long_decode(tmp_path):
    """A row group that takes a while to decode: the child can use the loader all the same."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    column = pa.array([f"row {i % 1000}" for i in range(300_000)])
    table = pa.table({f"s{j}": column for j in range(6)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=300_000, compression="zstd", use_dictionary=False)
    body = """
    loader = infeed.open("t.parquet").batch(4, ragged="list").to_numpy(threads=1, io_threads=1)
    batches = iter(loader)
    time.sleep(0.02)
    pid = os.fork()
    if pid == 0:
        signal.alarm(100)
        assert next(iter(loader))["s0"][0] == "row 0"
        os._exit(0)
    assert next(batches)["s1"][1] == "row 1"
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, status
    print("done")
    """
    code, out, err = run(tmp_path, f"import signal, time\nos.chdir({str(tmp_path)!r})\n" + textwrap.dedent(body))
    assert (code, out) == (0, "done\n"), err
