"""Batches that are computed, and batches that cost nothing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import infeed
from infeed import transforms as T

torch = pytest.importorskip("torch")


def noise(generator, epoch, step):
    return {"x": torch.randn(4, 3, generator=generator), "at": torch.full((4,), 100 * epoch + step)}


def make(**options):
    return infeed.generate(noise, steps=6, seed=9, **options)


def test_a_function_of_the_place_alone():
    loader = make()
    epochs = [[batch["x"].clone() for batch in loader] for _ in range(2)]
    assert len(loader) == loader.steps_per_epoch == 6 and [len(epoch) for epoch in epochs] == [6, 6]
    values = {tuple(x.flatten().tolist()) for epoch in epochs for x in epoch}
    assert len(values) == 12, "no batch comes twice"
    again = make(epoch=1)
    assert all(torch.equal(batch["x"], want) for batch, want in zip(again, epochs[1], strict=True))
    again.set_epoch(0)
    assert again.epoch == 0
    assert all(torch.equal(batch["x"], want) for batch, want in zip(again, epochs[0], strict=True))


def test_resume_is_exact():
    loader = make()
    whole = [batch["at"][0].item() for _ in range(2) for batch in loader]
    for taken in range(13):
        first = make()
        seen = [batch["at"][0].item() for batch in itertools.islice(itertools.chain(first, first), taken)]
        state = first.state_dict()
        assert all(isinstance(value, int) for value in state.values())
        second = make()
        second.load_state_dict(state)
        second.set_epoch(second.epoch)
        while second.epoch < 2:
            seen += [batch["at"][0].item() for batch in second]
        assert seen == whole, taken
    with pytest.raises(infeed.StateError, match="seed"):
        infeed.generate(noise, steps=6, seed=1).load_state_dict(state)


def test_ranks_have_batches_of_their_own():
    ranks = [[b["x"] for b in make(rank=rank, world_size=3)] for rank in range(3)]
    assert all(torch.equal(a, b["x"]) for a, b in zip(ranks[0], make(rank=0, world_size=1), strict=True))
    assert len({tuple(x.flatten().tolist()) for rank in ranks for x in rank}) == 18


def test_stats_spec_close_and_errors():
    loader = make(batch_spec={"x": ((4, 3), torch.float32)})
    with loader:
        for batch in loader:
            assert batch["x"].shape == (4, 3)
    stats = loader.stats()
    assert stats["batches"] == 6 and stats["samples"] == 24 and 0 <= stats["wait_share"] <= 1
    assert "24 samples in 6 batches" in str(stats)
    running = iter(loader)
    next(running)
    loader.close()
    assert list(running) == []
    with pytest.raises(
        ValueError, match=r"'x' is torch.float32 \(5, 3\), and the function made torch.float32 \(4, 3\)"
    ):
        next(iter(make(batch_spec={"x": ((5, 3), torch.float32)})))
    with pytest.raises(ValueError, match="no such field"):
        next(iter(make(batch_spec={"z": ((5, 3), torch.float32)})))
    with pytest.raises(ValueError, match="steps"):
        infeed.generate(noise, steps=0)
    with pytest.raises(ValueError, match="framework"):
        infeed.generate(noise, steps=1, framework="numpy")


def test_jax():
    jax = pytest.importorskip("jax")

    def fn(key, epoch, step):
        return {"x": jax.random.normal(key, (4, 2))}

    def loader(**options):
        return infeed.generate(fn, steps=4, seed=2**40 + 3, framework="jax", device="cpu", **options)

    first = loader()
    got = [np.asarray(batch["x"]) for _ in range(2) for batch in first]
    assert len({x.tobytes() for x in got}) == 8
    second = loader()
    running = iter(second)
    for _ in range(3):
        next(running)
    third = loader()
    third.load_state_dict(second.state_dict())
    rest = [np.asarray(batch["x"]) for _ in range(2) for batch in third]
    assert np.array_equal(np.stack(rest), np.stack(got[3:]))
    other = [np.asarray(batch["x"]) for batch in loader(rank=1, world_size=2)]
    assert not np.array_equal(other[0], got[0])


def pipe(shards, *more):
    images = infeed.open(shards).decode(jpg="rgb", cls="int").map(T.CenterCrop(24), *more, on="jpg")
    return images.select("jpg", "cls").batch(8, drop_last=True)


@pytest.mark.parametrize("door", ["numpy", "torch", "device"])
def test_dummy_has_the_real_spec(shards, door):
    if door == "device":
        from infeed.torch import on_device

        stages = [on_device.Normalize([0.5] * 3, [0.5] * 3, dtype=torch.bfloat16)]
        loader = pipe(shards).to_torch(device="cpu", on_device=stages, channels_last=True)
    else:
        loader = pipe(shards).to_torch() if door == "torch" else pipe(shards, T.ToDtype("f16")).to_numpy()
    real, dummy = next(iter(loader)), loader.dummy()
    assert len(dummy) == len(loader) == 6 and len(list(dummy)) == 6
    batches = list(dummy) + list(itertools.islice(loader.dummy(endless=True), 9))
    assert len({id(batch) for batch in batches}) == 2, "one batch, again and again"
    for name, value in real.items():
        made = batches[0][name]
        assert type(made) is type(value) and made.shape == value.shape and made.dtype == value.dtype, name
        if door != "numpy":
            assert made.stride() == value.stride()
    assert len(np.unique(np.asarray(batches[0]["jpg"].float() if door == "device" else batches[0]["jpg"]))) > 50
    assert set(batches[0]["cls"].tolist()) == {0}


def test_dummy_of_what_varies_is_a_real_batch(shards):
    loader = infeed.open(shards).decode(jpg="rgb", cls="int").batch(4).to_torch(device="cpu")
    state = loader.state_dict()
    batch = next(iter(loader.dummy()))
    assert batch["cls"].tolist() == [0, 1, 2, 3] and len({x.shape for x in batch["jpg"]}) > 1
    assert loader.state_dict() == state
    stream = infeed.stream(lambda: ({"s": f"t{i}", "x": np.ones(i + 1)} for i in range(9))).batch(2).to_numpy()
    assert next(iter(stream.dummy()))["s"] == ["t0", "t1"]


def test_dummy_of_tuples_and_other_types():
    arrays = {name: np.zeros((20, 3), name) for name in ("float32", "float64", "int32", "uint16", "bool")}
    x, y = infeed.arrays(arrays).batch(5).to_tuple("float64", "uint16").to_torch().dummy().batch
    assert (x.dtype, y.dtype, x.shape) == (torch.float64, torch.uint16, (5, 3))
    batch = infeed.arrays(arrays).batch(global_size=10).to_numpy(rank=0, world_size=2).dummy().batch
    assert {name: (str(v.dtype), v.shape) for name, v in batch.items()} == {name: (name, (5, 3)) for name in arrays}
