"""Worker processes: values and failures through shared memory."""

from __future__ import annotations

import gc
import os
import pickle
import random
import time

import numpy as np
import pytest
from pools import fds, held_pages, held_segments, pool, run

from infeed.work import Failure, Pool, allocate, worker_info

# A test that hangs fails; nothing else depends on time.
pytestmark = pytest.mark.timeout(300)


# Values


class Box:
    def __init__(self, array):
        self.array = array


def test_values_of_every_kind_arrive_writable():
    def do(i):
        return {
            "wide": np.full((50, 40), i, np.float64),
            "gaps": np.arange(10_000).reshape(100, 100)[::2, ::3] + 0,
            "strided": np.arange(10_000).reshape(100, 100)[::2, ::3],
            "fortran": np.asfortranarray(np.arange(6000).reshape(60, 100)),
            "small": np.arange(3),
            "none": np.empty((0, 5), np.int8),
            "scalar": np.float32(2),
            "zero_d": np.array(7),
            "time": np.array(["2020-01-01"] * 400, "datetime64[D]"),
            "record": np.zeros(300, [("a", "i4"), ("b", "f8")]),
            "objects": np.array([{}, None], object),
            "deep": [(Box(np.full(999, i)),)],
            "text": "x" * 100_000,
        }

    with pool(do) as p:
        for i, got in enumerate(run(p, range(8))):
            want = do(i)
            for key in ("wide", "gaps", "strided", "fortran", "small", "none", "scalar", "zero_d", "time", "record"):
                assert got[key].dtype == want[key].dtype and got[key].shape == want[key].shape, key
                assert np.array_equal(got[key], want[key]), key
            assert all(got[k].flags.writeable for k in ("wide", "strided", "fortran", "small", "record"))
            assert got["fortran"].flags.f_contiguous
            assert np.array_equal(got["deep"][0][0].array, np.full(999, i))
            assert got["text"] == want["text"] and got["objects"].tolist() == [{}, None]
            got["wide"][:] = -1


def test_allocated_arrays_are_not_copied():
    def do(i):
        array = allocate((100, 100), np.int32)
        array[:] = i
        from infeed.work import worker

        number, offset = worker._channel.arena.find(array.ctypes.data, array.nbytes)
        return array, number, offset

    with pool(do, workers=1) as p:
        for i in range(5):
            p.submit(i, i)
            _, (array, number, offset) = p.result()
            segment = p._workers[0].channel.mapped._segments[number]
            assert (array == i).all()
            assert array.ctypes.data == segment.address + offset, "the bytes lie where the worker wrote them"
    assert allocate((2, 3)).shape == (2, 3) and worker_info() is None


def test_what_a_worker_keeps_is_not_overwritten():
    kept = []

    def do(i):
        array = allocate(5000, np.int64)
        array[:] = i
        kept.append(array)
        return array, [int(a[0]) for a in kept], [int(a[-1]) for a in kept]

    with pool(do, workers=1) as p:
        for i in range(20):
            p.submit(i, i)
            _, (array, first, last) = p.result()
            assert first == last == list(range(i + 1))
            del array


def test_segments_are_used_again():
    with pool(lambda i: np.full(100_000, i, np.float32)) as p:
        counts = []
        for i in range(200):
            p.submit(i, i)
            number, array = p.result()
            assert (array == number).all()
            counts.append(p.segments)
            del array
        assert counts[-1] == counts[50] <= 4
        assert held_segments() == counts[-1]


def test_batches_that_are_held_stay_intact_and_are_given_back():
    before = fds()
    with pool(lambda i: np.full(20_000, i, np.int64)) as p:
        opened = fds()
        kept = dict(p.result() for i in range(200) if p.submit(i, i) is None)
        assert all((array == number).all() for number, array in kept.items())
        assert p.segments >= 200 and fds() <= opened + 2, "a batch that is held costs no file descriptor"
        kept.clear()
        for i in range(400):
            p.submit(i, i)
            p.result()
        assert p.segments <= 8, "what is not needed any more goes back to the system"
        last = run(p, [5])[0]
    assert (last == 5).all(), "values outlive the pool"
    del last
    gc.collect()
    # Fewer: others may have been collected meanwhile.
    assert held_segments() == 0 and fds() <= before


def test_sizes_that_vary_need_few_segments():
    sizes = np.random.default_rng(0).integers(1_000, 200_000, 300)
    with pool(lambda n: np.arange(n), workers=1) as p:
        for i, size in enumerate(sizes.tolist()):
            p.submit(i, size)
            _, array = p.result()
            assert array.shape == (size,) and array[-1] == size - 1
            del array
        assert p.segments <= 4


def test_a_small_batch_does_not_keep_the_pages_of_a_large_one():
    with pool(lambda n: np.ones(n, np.uint8), workers=1) as p:
        for i, size in enumerate((32 << 20, 9 << 20, 30 << 20, 10 << 20)):
            p.submit(i, size)
            _, array = p.result()
            assert array.shape == (size,) and array.all()
            assert p.segments == 1 and size <= held_pages() < size + (1 << 20)
            del array


def test_a_fork_of_the_consumer_does_not_give_segments_back():
    with pool(lambda i: np.full(10_000, i), workers=1) as p:
        p.submit(0, 0)
        _, array = p.result()
        child = os.fork()
        if child == 0:
            del array
            gc.collect()
            os._exit(0)
        os.waitpid(child, 0)
        for i in range(1, 10):
            p.submit(i, i)
            p.result()
        assert (array == 0).all()


def test_arrays_in_tasks():
    with pool(lambda t: (t["x"].sum(), t["x"].shape, t["name"])) as p:
        for i in range(100):
            p.submit(i, {"x": np.full((100, 100), i), "name": str(i)})
            assert p.result() == (i, (i * 10_000, (100, 100), str(i)))
        assert sum(len(w.channel.arena) for w in p._workers) <= 6


def test_many_tasks_ahead_never_block():
    text = "t" * 10_000
    with pool(lambda i: (i[0], text)) as p:
        assert [v[0] for v in run(p, ((i, text) for i in range(2000)))] == list(range(2000))
        assert p.outstanding == 0


def test_result_times_out():
    with pool(lambda t: time.sleep(t), workers=1) as p:
        assert p.result(timeout=0.01) is None
        p.submit(0, 0.2)
        assert p.result(timeout=0) is None
        assert p.result() == (0, None)
    with pool(lambda t: time.sleep(t), workers=1, timeout=0.05) as p:
        p.submit(0, 0.5)
        with pytest.raises(TimeoutError):
            p.result()


def test_infos_and_seeds():
    def make(info):
        return lambda _: (info, worker_info() == info, random.random(), np.random.rand())

    def draw(seed):
        with Pool(make, workers=2, context="fork", seed=seed) as p:
            for i in range(2):
                p.submit(i, None, worker=i)
            return sorted((p.result() for _ in range(2)), key=lambda pair: pair[0])

    first, again, other = draw(5), draw(5), draw(6)
    assert first == again and first != other
    assert [v[0].id for _, v in first] == [0, 1] and [v[0].seed for _, v in first] == [5, 6]
    assert all(v[1] for _, v in first) and first[0][1][2:] != first[1][1][2:]


# Failures


class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


def test_exceptions_keep_their_type_and_traceback():
    def do(t):
        if t == 0:
            raise KeyError("missing")
        if t == 1:
            raise Odd(1, 2)
        if t == 2:
            return lambda: None
        return t

    with pool(do) as p:
        lost, odd, local, fine = run(p, range(4))
        assert fine == 3 and all(isinstance(f, Failure) for f in (lost, odd, local))
        with pytest.raises(KeyError, match="missing") as caught:
            lost.reraise()
        assert 'raise KeyError("missing")' in str(caught.value.__cause__) and "worker" in caught.value.__notes__[0]
        with pytest.raises(RuntimeError, match="1 and 2"):
            odd.reraise()
        with pytest.raises(Exception, match="lambda"):
            local.reraise()
        assert run(p, [3]) == [3], "the pool goes on"


def test_a_failing_make_is_told_with_every_task():
    def make(info):
        raise ValueError(f"not today, {info.id}")

    with Pool(make, workers=1, context="fork") as p:
        for value in run(p, range(2)):
            with pytest.raises(ValueError, match="not today, 0"):
                value.reraise()


def test_an_unpicklable_task_is_the_callers_error():
    with pool(lambda t: t) as p:
        with pytest.raises((AttributeError, pickle.PicklingError, TypeError)):
            p.submit(0, lambda: None)
        assert p.outstanding == 0 and run(p, [1]) == [1]
