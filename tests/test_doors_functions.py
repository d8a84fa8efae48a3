"""Python functions through every door."""

from __future__ import annotations

import jax
import numpy as np
import torch

import infeed


def _plus(sample):
    return {
        "y": sample["y"] + 1.5,
        "t": f"row {sample['y']}",
        "image": np.full((2, 3), sample["y"], dtype=np.float32),
    }


def _rows():
    return infeed.arrays(y=np.arange(10)).map(_plus).filter(_not_three).batch(4)


def _not_three(sample):
    return sample["y"] != 4.5


def test_functions_through_jax():
    batch = next(iter(_rows().to_jax()))
    assert isinstance(batch["image"], jax.Array) and batch["image"].shape == (3, 2, 3)
    np.testing.assert_array_equal(batch["y"], [1.5, 2.5, 3.5])
    assert batch["t"] == ["row 0", "row 1", "row 2"]


def test_functions_through_arrow():
    batches = list(_rows().to_arrow(meta=True))
    assert batches[0].schema.names == ["y", "t", "image", "__key__", "__row__", "__url__"]
    assert batches[0].column("y").to_pylist() == [1.5, 2.5, 3.5]
    assert batches[0].column("__row__").to_pylist() == [0, 1, 2]
    assert batches[1].column("image").to_pylist()[0] == [[4.0] * 3] * 2


def test_functions_through_torch():
    batch = next(iter(_rows().to_torch(workers="processes", num_workers=1, multiprocessing_context="forkserver")))
    assert batch["image"].dtype == torch.float32 and tuple(batch["image"].shape) == (3, 2, 3)
    assert batch["y"].tolist() == [1.5, 2.5, 3.5]
