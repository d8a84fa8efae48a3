"""The NumPy door: plain arrays that belong to the reader."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import infeed

DTYPES = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
DTYPES += ["float16", "float32", "float64"]


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype(name):
    data = (np.arange(24).reshape(6, 4) % 7).astype(name)
    (batch,) = infeed.arrays(x=data).batch(6).to_numpy()
    assert type(batch["x"]) is np.ndarray and batch["x"].dtype == data.dtype
    assert np.array_equal(batch["x"], data)
    # The memory is the reader's: writing changes neither the source nor a later batch.
    assert batch["x"].flags.writeable and batch["x"].flags.c_contiguous
    batch["x"][:] = 1
    (again,) = infeed.arrays(x=data).batch(6).to_numpy()
    assert np.array_equal(again["x"], data) and data.max() > (0 if name == "bool" else 1)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    data = np.arange(12).reshape(6, 2).astype(ml_dtypes.bfloat16)
    (batch,) = infeed.arrays(x=data).batch(6).to_numpy()
    assert batch["x"].dtype == data.dtype and np.array_equal(batch["x"].astype(float), data.astype(float))


def test_a_batch_is_a_dict(shards):
    batch = next(iter(infeed.open(shards).decode(cls="int").batch(4).to_numpy()))
    plain = dict(batch)
    assert type(plain) is dict and list(plain) == ["cls", "jpg"] and isinstance(batch, dict)
    assert batch["__row__"].tolist() == [0, 1, 2, 3]
    copy = pickle.loads(pickle.dumps(batch))
    assert copy["cls"].tolist() == batch["cls"].tolist() and all(map(np.array_equal, copy["jpg"], batch["jpg"]))
    with pytest.raises(KeyError, match="a copy does not know where it came from"):
        copy["__row__"]


def test_bytes_are_read_only(shards):
    """They share the memory of their shard."""
    batch = next(iter(infeed.open(shards).batch(2).to_numpy()))
    assert not batch["jpg"][0].flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        batch["jpg"][0][0] = 1
