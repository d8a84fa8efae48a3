"""The PyTorch door: tensors without a copy."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import infeed
from infeed import transforms as T

torch = pytest.importorskip("torch")


def pipe(shards, *last):
    return (
        infeed.open(shards).shuffle(seed=2).decode(jpg="rgb", cls="int").map(T.RandomResizedCrop(24), *last).batch(8)
    )


def test_equals_numpy(shards):
    plain = list(pipe(shards, T.ToDtype("f32", scale=True)).to_numpy())
    for want, got in zip(plain, pipe(shards, T.ToDtype("f32", scale=True)).to_torch(), strict=True):
        assert got["jpg"].dtype == torch.float32 and got["cls"].dtype == torch.int64
        assert (
            np.array_equal(got["jpg"].permute(0, 2, 3, 1).numpy(), want["jpg"])
            and got["cls"].tolist() == want["cls"].tolist()
        )
        assert got["__key__"] == want["__key__"]


@pytest.mark.parametrize("dtype", ["u8", "f16", "bf16", "f32"])
def test_every_dtype(shards, dtype):
    batch = next(iter(pipe(shards, T.ToDtype(dtype)).to_torch()))
    assert (
        batch["jpg"].dtype
        == {"u8": torch.uint8, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[dtype]
    )
    assert batch["jpg"].shape == (8, 3, 24, 24)
    plain = next(iter(pipe(shards).to_torch()))["jpg"]
    assert (batch["jpg"].float() - plain.float()).abs().max() <= (1 if dtype == "bf16" else 0)


def test_no_copy(shards):
    """The tensor and a NumPy view of the same core array have the same address, and are writable."""
    loader = pipe(shards).to_torch()
    batch = next(iter(loader))
    core = batch._core.column("jpg")
    assert np.asarray(core).ctypes.data == batch["jpg"].data_ptr()
    batch["jpg"] += 1
    assert batch["jpg"].is_contiguous(memory_format=torch.channels_last)


def test_tensors_outlive_everything(shards):
    kept = [(b["jpg"], b["jpg"].clone()) for b in pipe(shards).to_torch(prefetch=1)]
    gc.collect()
    assert all(torch.equal(a, b) for a, b in kept)


def test_lists_of_bytes_are_copies(shards):
    batch = next(iter(infeed.open(shards).batch(2).to_torch()))
    assert batch["jpg"][0].dtype == torch.uint8
    assert bytes(batch["jpg"][0].numpy()) == bytes(next(iter(infeed.open(shards).batch(2).to_numpy()))["jpg"][0])
    batch["jpg"][0][:] = 0
    assert bytes(next(iter(infeed.open(shards).batch(2).to_numpy()))["jpg"][0])[:2] == b"\xff\xd8"


def test_default_collate_style_training_loop(shards):
    model = torch.nn.Conv2d(3, 10, 3)
    for images, labels in pipe(shards, T.Normalize([0.5] * 3, [0.5] * 3)).to_tuple("jpg", "cls").to_torch():
        loss = torch.nn.functional.cross_entropy(model(images).mean((2, 3)), labels)
        loss.backward()
    assert model.weight.grad is not None
