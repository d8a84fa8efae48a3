"""Chaos mode: what it injects is counted, and the batches, states and ledgers are those of a run without it."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest

import infeed
from infeed import chaos
from infeed import transforms as T
from infeed.work import Pool

pytestmark = pytest.mark.timeout(300)

DEATHS = 4
"""A seed that kills workers at small task numbers."""


def images(shards):
    return (
        infeed.open(shards)
        .shuffle(seed=7)
        .decode(jpg="rgb", cls="int")
        .map(T.RandomResizedCrop(24), on="jpg")
        .batch(4)
    )


def lines(folder):
    path = folder / "rows.jsonl"
    path.write_text("".join(f'{{"a": {i}}}\n' for i in range(2000)))
    return infeed.open(str(path)).shuffle(seed=3).batch(16)


def tokens(folder):
    np.arange(64_000, dtype="u2").tofile(folder / "t.bin")
    return infeed.tokens(str(folder / "t.bin"), 32).shuffle(seed=1).batch(16)


def stream(folder):
    import gzip

    text = "".join(f'{{"a": {i}}}\n' for i in range(2000))
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    return infeed.open(str(folder / "rows.jsonl.gz")).batch(8)


def steps(loader):
    """Every batch of two epochs, with the state after it, and the ledger."""
    out = []
    for _ in range(2):
        for batch in loader:
            arrays = [(name, np.asarray(batch[name]).tobytes()) for name in sorted(batch)]
            out.append((arrays, json.dumps(loader.state_dict())))
    return out, loader.ledger()


@pytest.mark.parametrize("kind", ["images", "lines", "tokens", "stream"])
def test_batches_states_and_ledgers_are_the_same(kind, tmp_path, shards):
    pipeline = images(shards) if kind == "images" else globals()[kind](tmp_path)
    calm, wild = pipeline.to_numpy(threads=2), pipeline.to_numpy(threads=2, chaos=5)
    assert steps(wild) == steps(calm)
    assert calm.stats()["chaos"] is None
    did = wild.stats()["chaos"]
    assert did["delays"] > 0 and did["faults"] > 0 and did["deaths"] == 0
    assert wild.stats()["retries"] > 0 and wild.stats()["bad_samples"] == 0
    assert "chaos " in str(wild.stats()) and "chaos " not in str(calm.stats())


def test_counts_of_faults_depend_on_the_seed_alone(tmp_path):
    def count(seed, threads):
        # Threads that look beyond the epoch would count what they read of the next one.
        loader = lines(tmp_path).to_numpy(chaos=seed, threads=threads, persistent=False)
        assert sum(len(batch["a"]) for batch in loader) == 2000
        return loader.stats()["chaos"]

    assert count(1, 1) == count(1, 1) == count(1, 3)
    assert count(1, 1) != count(2, 1)


class Squares:
    def __len__(self):
        return 400

    def __getitem__(self, i):
        return {"i": i, "square": np.full(50, i * i)}


@pytest.mark.parametrize("on_dead_worker", ["raise", "replace"])
def test_workers_that_are_killed_are_replaced(on_dead_worker):
    pipeline = infeed.wrap(Squares()).shuffle(seed=2).batch(4)
    options = {"workers": "processes", "num_workers": 2, "multiprocessing_context": "fork"}
    with pipeline.to_numpy(**options) as calm:
        wanted = steps(calm)
    with pipeline.to_numpy(chaos=DEATHS, on_dead_worker=on_dead_worker, **options) as wild:
        assert steps(wild) == wanted
        assert wild.stats()["chaos"]["deaths"] > 2
    # What was counted outlives the workers.
    assert wild.stats()["chaos"]["deaths"] > 2


def test_a_death_that_is_not_ours_is_still_raised():
    def make(info):
        def work(task):
            if task == 30:
                os.kill(os.getpid(), signal.SIGKILL)
            return task

        return work

    with Pool(make, workers=2, context="fork", chaos=DEATHS) as pool, pytest.raises(infeed.WorkerDied):
        for number in range(40):
            pool.submit(number, number)
            pool.result()
        pytest.fail("the death of a worker was not told")


def test_the_choice_of_victims_is_repeatable():
    chosen = [chaos.victim(9, number, 3) for number in range(2000)]
    assert chosen == [chaos.victim(9, number, 3) for number in range(2000)]
    killed = [worker for worker in chosen if worker is not None]
    assert 50 < len(killed) < 200 and set(killed) == {0, 1, 2}


def test_the_environment_turns_it_on(tmp_path, monkeypatch):
    pipeline = lines(tmp_path)
    monkeypatch.setenv("INFEED_CHAOS", "11")
    loader = pipeline.to_numpy(persistent=False)
    assert sum(len(batch["a"]) for batch in loader) == 2000
    from_environment = loader.stats()["chaos"]
    monkeypatch.delenv("INFEED_CHAOS")
    loader = pipeline.to_numpy(chaos=11, persistent=False)
    assert sum(len(batch["a"]) for batch in loader) == 2000
    assert loader.stats()["chaos"] == from_environment
    assert pipeline.to_numpy().stats()["chaos"] is None


@pytest.mark.parametrize("bad", ["x", "-1", "1.5", str(2**64)])
def test_what_is_no_seed_is_refused(tmp_path, monkeypatch, bad):
    pipeline = lines(tmp_path)
    monkeypatch.setenv("INFEED_CHAOS", bad)
    with pytest.raises(ValueError, match="INFEED_CHAOS must be a seed"):
        pipeline.to_numpy()


@pytest.mark.parametrize("bad", [True, -1, 1.5, 2**64, "7"])
def test_a_bad_argument_is_refused(tmp_path, bad):
    with pytest.raises(ValueError, match="chaos= must be a seed"):
        lines(tmp_path).to_numpy(chaos=bad)


def test_a_copy_of_a_loader_has_it_too(tmp_path):
    import pickle

    loader = pickle.loads(pickle.dumps(lines(tmp_path).to_numpy(chaos=6)))
    next(iter(loader))
    assert loader.stats()["chaos"] is not None


def test_leaving_early_does_not_wait(tmp_path):
    loader = lines(tmp_path).to_numpy(chaos=6)
    for _ in range(20):
        for _ in loader:
            break
    loader.close()


@pytest.mark.parametrize("door, needs", [("to_torch", "torch"), ("to_arrow", "pyarrow"), ("to_jax", "jax")])
def test_every_door_has_it(tmp_path, door, needs):
    pytest.importorskip(needs)
    with getattr(tokens(tmp_path), door)(chaos=5) as loader:
        assert sum(1 for _ in loader) == len(loader)
        did = loader.stats()["chaos"]
    assert did["delays"] > 0 and did["faults"] > 0
