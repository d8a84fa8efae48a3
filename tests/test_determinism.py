"""The same seed gives the same bytes, whatever the threads; held batches stay intact."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from conftest import write_shards

import infeed
from infeed import transforms as T

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def train(shards: str, seed: int = 7) -> infeed.Pipeline:
    return (
        infeed.open(shards)
        .shuffle(seed=seed)
        .decode(jpg="rgb", cls="int")
        .map(T.RandomResizedCrop(64), T.RandomHorizontalFlip(), T.Normalize(MEAN, STD), on="jpg")
        .batch(8)
    )


def digests(loader, epochs: int = 2) -> list[str]:
    out = []
    for _ in range(epochs):
        for batch in loader:
            out.append(hashlib.sha256(batch["jpg"].tobytes() + batch["cls"].tobytes()).hexdigest())
    return out


def test_threads_do_not_matter(shards):
    want = digests(train(shards).to_numpy(threads=1))
    assert len(set(want)) == len(want) == 14
    for threads in (2, 16):
        assert digests(train(shards).to_numpy(threads=threads, io_threads=threads, prefetch=5)) == want


def test_seed_and_epoch_matter(shards):
    want = digests(train(shards).to_numpy(), epochs=2)
    assert want[:7] != want[7:]
    assert digests(train(shards, seed=8).to_numpy(), epochs=1) != want[:7]
    assert digests(train(shards).to_numpy(epoch=1), epochs=1) == want[7:]
    loader = train(shards).to_numpy()
    loader.set_epoch(1)
    assert digests(loader, epochs=1) == want[7:]


def test_every_row_comes_once(shards):
    rows = np.concatenate([b["__row__"] for b in train(shards).to_numpy()])
    assert sorted(rows.tolist()) == list(range(50))


def test_an_epoch_held_in_a_list_stays_intact(tmp_path):
    pipe = train(write_shards(tmp_path, 200))
    first = []
    seen = []
    for batch in pipe.to_numpy(threads=2):
        seen.append((batch["jpg"].tobytes(), batch["cls"].tobytes()))
        first.append(batch)
    assert len(first) == 25
    again = list(pipe.to_numpy(threads=2))
    for held, bytes_then, new in zip(first, seen, again, strict=True):
        assert held["jpg"].tobytes() == bytes_then[0] == new["jpg"].tobytes()
        assert held["cls"].tobytes() == bytes_then[1]


def test_a_view_keeps_its_memory(shards):
    loader = train(shards).to_numpy(threads=2, prefetch=1)
    views, want = [], []
    for _ in range(3):
        for batch in loader:
            view = batch["jpg"][1:2, :, ::2, ::3]
            views.append(view)
            want.append(view.copy())
            del batch, view
    for view, copy in zip(views, want, strict=True):
        assert np.array_equal(view, copy)


def test_memory_is_used_again(shards):
    """A consumer that releases batches gets the same few blocks repeatedly."""
    loader = train(shards).to_numpy(threads=2, prefetch=2)
    addresses = set()
    for _ in range(20):
        for batch in loader:
            if len(batch["cls"]) == 8:
                addresses.add(batch["jpg"].ctypes.data)
    assert len(addresses) <= 6, "blocks are not reused"


@pytest.mark.parametrize("drop_last", [False, True])
def test_lengths(shards, drop_last):
    loader = infeed.open(shards).batch(16, drop_last=drop_last).to_numpy()
    sizes = [len(b["__row__"]) for b in loader]
    assert len(sizes) == len(loader) == (3 if drop_last else 4)
    assert sizes == [16, 16, 16] + ([] if drop_last else [2])


def test_drop_last_with_too_few_rows(shards):
    with pytest.raises(infeed.PlanError, match="drop_last leaves nothing"):
        infeed.open(shards).batch(51, drop_last=True).explain()
