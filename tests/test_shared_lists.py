"""Long lists and large arrays that all workers share."""

from __future__ import annotations

import array
import heapq
import pickle

import numpy as np
import pytest
from pools import pss, run

from infeed.work import Pool, SharedList
from infeed.work import parcel as parcels

# A test that hangs fails; nothing else depends on time.
pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize(
    "entry",
    [
        lambda i: f"name {i}",
        lambda i: f"näme {i} \U0001f600" if i % 3 else "",
        lambda i: bytes([i % 256]) * (i % 7),
        lambda i: i - 5000,
        lambda i: i / 7,
        lambda i: i % 3 == 0,
        lambda i: (f"path/{i}", i, i / 2),
        lambda i: (f"path/{i}", (i, None)),
        lambda i: (i,) * (i % 4),
        lambda i: [None, i, 2.5, "x", b"y", True, 10**30][i % 7],
        lambda i: 2**63 + i,
    ],
)
def test_shared_lists_are_like_lists(entry):
    plain = [entry(i) for i in range(10_500)]

    class Make:
        def __init__(self):
            self.values = plain

        def __call__(self, info):
            def do(_):
                shared = self.values
                assert type(shared) is SharedList and isinstance(shared, list)
                assert len(shared) == len(plain) and list(shared) == plain
                assert shared == plain and plain == shared and shared != plain[:-1]
                assert [type(v) for v in shared[:20]] == [type(v) for v in plain[:20]]
                for i in (0, 1, 77, -1, -10_500, np.int64(5)):
                    assert shared[i] == plain[i]
                assert shared[3:9] == plain[3:9] and shared[::1000] == plain[::1000] and shared[9:3] == []
                assert plain[123] in shared and "nothing like it" not in shared
                assert shared.index(plain[2]) == plain.index(plain[2])
                assert shared + plain[:2] == plain + plain[:2] and shared.copy() == plain
                assert pickle.loads(pickle.dumps(shared)) == plain and list(reversed(shared)) == plain[::-1]
                for bad in (10_500, -10_501):
                    try:
                        shared[bad]
                    except IndexError:
                        continue
                    raise AssertionError(bad)
                return True

            return do

    with Pool(Make(), workers=1, context="fork") as p:
        value = run(p, [0])[0]
        assert value is True, value.text


def test_code_that_reads_the_memory_of_a_list_fails_instead_of_using_wrong_values():
    values = SharedList(3).attach(lambda start, stop: [3, 1, 2][start:stop])
    with pytest.raises(TypeError, match="EntryInSharedMemory"):
        heapq.heapify(values)
    assert array.array("q", values).tolist() == [3, 1, 2]
    values.append(0)
    heapq.heapify(values)
    assert values[0] == 0


class Guarded:
    """Attributes that are not there are made, or refused, in the owner's way."""

    def __init__(self):
        self.long = [str(i) for i in range(10_000)]
        self.asked = []

    def __getattr__(self, name):
        self.__dict__.setdefault("asked", []).append(name)
        raise KeyError(name)

    def __call__(self, info):
        return lambda _: (type(self.long).__name__, self.asked)


def test_the_search_for_lists_runs_no_code_of_the_user():
    guarded = Guarded()
    with Pool(guarded, workers=1, context="fork") as p:
        assert run(p, [0]) == [("SharedList", [])]
    assert guarded.asked == []


class Holder:
    def __init__(self, array):
        self.array = array


class Lists:
    def __init__(self):
        self.long = [str(i) for i in range(10_000)]
        self.same = self.long
        self.short = [1, 2, 3]
        self.objects = [{} for _ in range(10_000)]
        self.deep = {"a": [Holder([i for i in range(12_000)])]}

    def __call__(self, info):
        return self.do

    def do(self, what):
        if what == "kinds":
            deep = self.deep["a"][0].array
            return [type(v).__name__ for v in (self.long, self.same, self.short, self.objects, deep)]
        self.long.append("x")
        return self.same[-1], len(self.long), type(self.same).__name__


def test_which_lists_are_shared():
    lists = Lists()
    with Pool(lists, workers=1, context="fork") as p:
        kinds, changed = run(p, ["kinds", "change"])
        assert kinds == ["SharedList", "SharedList", "list", "list", "SharedList"]
        assert changed == ("x", 10_001, "OwnedList")
    assert type(lists.long) is list and lists.long is lists.same and len(lists.long) == 10_000, (
        "the consumer's object is not touched"
    )
    with Pool(lists, workers=1, context="fork", share=False) as p:
        assert run(p, ["kinds", "change"]) == [["list"] * 5, ("x", 10_001, "list")]
    assert not parcels._kept


class Reader:
    """Reads everything it has, as a worker does in the course of an epoch."""

    def __init__(self, names, array):
        self.names = names
        self.array = array

    def __call__(self, info):
        return self.do

    def do(self, task):
        if task == "idle":
            return None
        # Kept for a moment each, as a dataset does: this is what touches the reference counts.
        return sum(len(name) for name in self.names) + float(self.array.sum())


def grown(reader: Reader, share: bool) -> int:
    """By how many bytes this process and four workers grow together while each worker reads everything."""
    with Pool(reader, workers=4, context="fork", share=share) as p:
        for number in range(4):
            p.submit(number, "idle", worker=number)
        for _ in range(4):
            p.result()
        before = pss() + sum(map(pss, p.pids))
        for number in range(4):
            p.submit(number, "read", worker=number)
        values = {p.result()[1] for _ in range(4)}
        assert len(values) == 1 and isinstance(values.pop(), float)
        return pss() + sum(map(pss, p.pids)) - before


def test_memory_does_not_grow_with_the_workers():
    names = [f"folder/{i % 1000:04d}/image_{i:09d}.jpg" for i in range(1_000_000)]
    one_copy = 80 << 20
    reader = Reader(names, np.ones(1))
    shared, plain = grown(reader, share=True), grown(reader, share=False)
    # The packed list is touched for the first time: about 40 MB of text and ends, once.
    assert shared < one_copy, f"{shared >> 20} MB with sharing"
    assert plain > 2 * one_copy, f"{plain >> 20} MB without: the test would not see growth"


def test_arrays_are_shared_by_spawned_workers():
    array = np.ones(100 << 17)
    with Pool(Reader([], array), workers=4, context="forkserver") as p:
        for number in range(4):
            p.submit(number, "read", worker=number)
        assert {p.result()[1] for _ in range(4)} == {float(100 << 17)}
        # Four copies would be more than 400 MB; one, and four interpreters, are far less.
        assert sum(map(pss, p.pids)) < 3 * array.nbytes
