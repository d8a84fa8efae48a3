"""Whether a loader slows its consumer: steps with the loader at work beside steps on dummy batches."""

from __future__ import annotations

import pytest

import infeed
from infeed.doors.loader import Loader
from infeed.doors.slowing import StepTimes


def rows(n=64):
    return infeed.arrays({"x": list(range(n))}).batch(4)


def timed(loader, with_loader, without):
    for _ in range(20):
        loader._steps.add(with_loader)
        loader._free_steps.add(without)
    return loader.stats()


def test_the_verdict_tells_slowing_from_waiting():
    slowed = timed(Loader(rows()), 44_000_000, 40_000_000)
    assert slowed["slowed_share"] == pytest.approx(0.1)
    assert 'the loader slows your steps by 10 %: priority="low"' in slowed["verdict"]
    assert "44.00 ms of your own between batches, 40.00 ms with dummy batches" in str(slowed)
    assert str(slowed).rstrip().endswith(slowed["verdict"])
    low = timed(Loader(rows(), priority="low", threads=2), 44_000_000, 40_000_000)
    assert "fewer threads than 2" in low["verdict"]
    for free in (timed(Loader(rows()), 40_400_000, 40_000_000), timed(Loader(rows()), 30_000_000, 40_000_000)):
        assert "slows" not in free["verdict"] and free["slowed_share"] < 0.02
    assert Loader(rows()).stats()["slowed_share"] is None


def test_steps_are_timed_with_the_loader_and_with_dummy_batches():
    loader = Loader(rows())
    assert len(list(loader)) == 16
    assert loader.stats()["step_s"] is not None and loader.stats()["free_step_s"] is None
    assert len(list(loader.dummy())) == 16
    assert loader.stats()["free_step_s"] is not None


def test_the_first_steps_do_not_count():
    times = StepTimes()
    for ns in [10**12] * 3 + [5 * 10**6] * 7:
        times.add(ns)
    assert times.median is None
    times.add(5 * 10**6)
    assert times.median == 0.005
    for _ in range(2000):
        times.add(7 * 10**6)
    assert times.median == 0.007, "what is long past is forgotten"
