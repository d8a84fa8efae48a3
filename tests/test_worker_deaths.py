"""Worker processes: deaths, replacements, clean ends."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from pools import children, fds, pool, run

import infeed

# A test that hangs fails; nothing else depends on time.
pytestmark = pytest.mark.timeout(300)


def crash(how):
    def do(t):
        if t == 3:
            how()
        return t

    return do


@pytest.mark.parametrize(
    "how, code, words",
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), -signal.SIGKILL, "SIGKILL.*out-of-memory"),
        (lambda: ctypes.string_at(0), -signal.SIGSEGV, "SIGSEGV.*stderr"),
        (lambda: os._exit(3), 3, "code 3"),
        (lambda: sys.exit(4), 4, "code 4"),
        (lambda: os._exit(0), 0, "code 0"),
    ],
    ids=["kill", "segfault", "os._exit", "sys.exit", "exit 0"],
)
def test_a_death_is_raised_with_its_cause(how, code, words, capfd):
    with pool(crash(how)) as p:
        for i in range(6):
            p.submit(i, i)
        with pytest.raises(infeed.WorkerDied, match=words) as caught:
            for _ in range(6):
                p.result()
        error = caught.value
        assert error.worker == 1 and error.exitcode == code and error.task == "3" and "task 3" in str(error)
        with pytest.raises(RuntimeError, match="lost a worker"):
            p.submit(9, 9)
    if code == -signal.SIGSEGV:
        assert "string_at" in capfd.readouterr().err


def test_a_worker_killed_from_outside_is_noticed_while_waiting():
    with pool(lambda t: time.sleep(60)) as p:
        p.submit(0, "long", worker=0)
        os.kill(p.pids[0], signal.SIGKILL)
        with pytest.raises(infeed.WorkerDied, match=r"worker 0 .*'long'.*SIGKILL") as caught:
            p.result()
        assert caught.value.worker == 0
        for worker in p._workers[1:]:
            worker.process.kill()


def test_a_dead_worker_is_replaced(tmp_path):
    def do(t):
        mark = tmp_path / f"{t}"
        if t in (3, 11, 12) and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return np.full(5000, t)

    with pool(do, replace_dead=True) as p:
        before = p.pids
        values = run(p, range(40))
        assert [int(v[0]) for v in values] == list(range(40)) and all((v == i).all() for i, v in enumerate(values))
        assert p.pids != before


def test_a_task_that_kills_twice_is_raised():
    with pool(crash(lambda: os._exit(1)), replace_dead=True) as p:
        for i in range(6):
            p.submit(i, i)
        with pytest.raises(infeed.WorkerDied, match=r"second time.*task 3"):
            for _ in range(6):
                p.result()


def test_nothing_is_left_after_close():
    multiprocessing.active_children()
    fds_before, before = fds(), children()
    for _ in range(3):
        p = pool(lambda t: np.zeros(10_000), workers=3)
        for i in range(10):
            p.submit(i, i)
        p.result()
        assert len(children() - before) == 3
        p.close()
        p.close()
        with pytest.raises(RuntimeError, match="closed"):
            p.result()
    assert fds() <= fds_before and children() == before


def test_garbage_collection_ends_the_workers():
    before = children()
    p = pool(lambda t: t)
    p.submit(0, 0)
    del p
    gc.collect()
    assert children() == before


def test_use_in_a_forked_child_is_refused():
    with pool(lambda t: t) as p:
        child = os.fork()
        if child == 0:
            try:
                p.submit(0, 0)
            except RuntimeError:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert run(p, [1]) == [1], "the parent's pool is not disturbed"


def script(text: str, **options) -> subprocess.CompletedProcess:
    path = str(Path(infeed.__file__).parent.parent)
    env = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)], env=env, capture_output=True, text=True, timeout=90, **options
    )


def test_interpreter_exit_in_the_middle_is_silent():
    done = script(
        """
        import numpy as np
        from infeed.work import Pool
        pool = Pool(lambda info: lambda t: np.full(100_000, t), workers=2, context="fork")
        for i in range(50):
            pool.submit(i, i)
        kept = pool.result()
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_workers_end_with_a_killed_consumer():
    done = script(
        """
        import os, signal, time
        from infeed.work import Pool
        pool = Pool(lambda info: lambda t: time.sleep(600), workers=2, context="fork")
        pool.submit(0, 0)
        print(*pool.pids, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    assert done.returncode == -signal.SIGKILL
    for pid in map(int, done.stdout.split()):
        # They end on their own; how soon is not asked, the limit above is for hangs.
        while Path(f"/proc/{pid}").exists() and "zombie" not in Path(f"/proc/{pid}/status").read_text():
            time.sleep(0.02)


def test_spawn_and_forkserver_from_a_script(tmp_path):
    file = tmp_path / "main.py"
    file.write_text(
        textwrap.dedent(
            """
            import sys
            import numpy as np
            from infeed.work import Pool

            class Make:
                def __init__(self):
                    self.names = [f"name {i}" for i in range(20_000)]
                    self.array = np.arange(50_000)
                def __call__(self, info):
                    def do(t):
                        self.array[0] = info.id
                        return type(self.names).__name__, self.names[t], int(self.array.sum()), np.full(5_000, t)
                    return do

            if __name__ == "__main__":
                make = Make()
                for method in ("spawn", "forkserver"):
                    with Pool(make, workers=2, context=method) as pool:
                        for i in range(6):
                            pool.submit(i, i, worker=i % 2)
                        for _ in range(6):
                            n, (kind, name, total, array) = pool.result()
                            assert kind == "SharedList" and name == f"name {n}" and (array == n).all()
                            assert total == 50_000 * 49_999 // 2 + n % 2, "each worker writes to its own copy"
                    assert type(make.names) is list and make.array[0] == 0
                print("fine")
            """
        )
    )
    path = str(Path(infeed.__file__).parent.parent)
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, file], env=env, capture_output=True, text=True, timeout=90)
    assert (done.stdout, done.stderr) == ("fine\n", "")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_no_orphans_after_the_consumer_is_killed(tmp_path, method):
    """Workers end with their consumer, even inside C code that holds the GIL."""
    script = tmp_path / "consumer.py"
    script.write_text(
        textwrap.dedent(
            """
            import ctypes, os, sys
            import numpy as np
            import infeed

            class Data:
                def __len__(self):
                    return 10_000

                def __getitem__(self, i):
                    if i > 20:
                        ctypes.PyDLL(None).sleep(600)
                    return {"x": np.zeros(10), "pid": os.getpid()}

            if __name__ == "__main__":
                loader = infeed.wrap(Data()).batch(4).to_numpy(
                    workers="processes", num_workers=2, multiprocessing_context=sys.argv[1]
                )
                pids = set()
                for n, batch in enumerate(loader):
                    pids |= {int(pid) for pid in batch["pid"]}
                    if n == 2:
                        print(*pids, flush=True)
            """
        )
    )
    consumer = subprocess.Popen([sys.executable, str(script), method], stdout=subprocess.PIPE, text=True)
    pids = [int(pid) for pid in consumer.stdout.readline().split()]
    consumer.stdout.close()
    assert pids
    time.sleep(0.5)
    consumer.kill()
    consumer.wait()
    alive = set(pids)
    for _ in range(200):
        alive = {pid for pid in alive if is_alive(pid)}
        if not alive:
            break
        time.sleep(0.05)
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
    assert not alive


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
