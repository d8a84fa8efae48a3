"""Batches by their number: `loader[0]` is what iterating gives, and changes nothing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from shown import augmented, same

import infeed

LASTS = ["short", "drop", "pad"]


@pytest.mark.parametrize(("world", "last"), list(itertools.product([1, 3], LASTS)))
def test_batches_by_number(shards, world, last):
    """Every batch of every rank is the one that iterating gives, in a running epoch and between epochs."""
    for rank in range(world):
        pipe = augmented(shards, size=4, last=last)
        loader = pipe.to_numpy(rank=rank, world_size=world)
        for _ in range(2):
            batches = list(pipe.to_numpy(rank=rank, world_size=world, epoch=loader.epoch))
            running = iter(loader)
            first = next(running)
            before = loader.state_dict(), dict(loader.ledger())
            for number, batch in enumerate(batches):
                found = loader[number]
                assert same(found, batch) and found["__pad__"].tolist() == batch["__pad__"].tolist()
            assert same(loader[-1], batches[-1]) and same(first, batches[0])
            assert (loader.state_dict(), dict(loader.ledger())) == before
            assert all(same(a, b) for a, b in zip(running, batches[1:], strict=True))
        with pytest.raises(IndexError, match="batches in an epoch"):
            loader[len(loader)]
        with pytest.raises(IndexError):
            loader[-len(loader) - 1]
        with pytest.raises(TypeError, match="one batch"):
            loader[:2]


@pytest.mark.parametrize("options", [{"steps_per_epoch": 3}, {"endless": True}, {"steps_per_epoch": 9}], ids=str)
def test_numbers_of_long_and_short_epochs(options):
    pipe = infeed.arrays(x=np.arange(10)).shuffle(seed=1).batch(4)
    want = [b["x"].tolist() for b in itertools.islice(pipe.to_numpy(endless=True), 27)]
    loader = pipe.to_numpy(**options)
    steps = options.get("steps_per_epoch", 9)
    for start in range(0, 9 if "endless" in options else 27, steps):
        assert [loader[i]["x"].tolist() for i in range(steps)] == want[start : start + steps]
        for number, batch in enumerate(loader if "steps_per_epoch" in options else itertools.islice(loader, steps)):
            assert batch["x"].tolist() == want[start + number]
            assert loader[0]["x"].tolist() == want[start]


def test_numbers_follow_set_epoch_and_resume():
    pipe = infeed.arrays(x=np.arange(10)).shuffle(seed=1).batch(4)
    loader = pipe.to_numpy()
    loader.set_epoch(3)
    assert loader[0]["x"].tolist() == pipe.order(3, 0, 4).tolist() and loader.epoch == 3
    other = pipe.to_numpy()
    half = iter(other)
    next(half), next(half)
    loader.load_state_dict(other.state_dict())
    assert loader[0]["x"].tolist() == pipe.order(0, 0, 4).tolist()
    assert [b["x"].tolist() for b in loader] == [pipe.order(0, 8, 10).tolist()]


@pytest.mark.parametrize("workers", ["threads", "processes", "consumer"])
def test_numbers_with_functions(workers):
    pipe = infeed.arrays(x=np.arange(10.0)).shuffle(seed=1).map(noisy).batch(4).to_tuple("x")
    with pipe.to_numpy(workers=workers, num_workers=2) as loader:
        running = iter(loader)
        first = next(running)
        assert np.array_equal(loader[0][0], first[0])
        assert np.array_equal(loader[2][0], list(running)[-1][0])


def noisy(sample, rng):
    return {"x": sample["x"] + rng.random()}


def test_numbers_of_other_doors(shards):
    torch = pytest.importorskip("torch")
    pipe = augmented(shards)
    for loader in (pipe.to_torch(), pipe.to_torch(device="cpu", channels_last=True)):
        batches = list(loader)
        loader.set_epoch(0)
        found = loader[2]["jpg"]
        assert torch.equal(found, batches[2]["jpg"]) and found.stride() == batches[2]["jpg"].stride()
