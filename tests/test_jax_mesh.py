"""The JAX door on a mesh of devices, and over processes."""

from __future__ import annotations

import json
import os
import socket

import numpy as np
import pytest
from test_jax import finish, start

import infeed

pytestmark = pytest.mark.timeout(300)

MESH = """
import jax, numpy as np, infeed
from jax.sharding import NamedSharding, PartitionSpec as P
x = np.arange(64 * 6 * 4, dtype=np.float32).reshape(64, 6, 4)
data = infeed.arrays(x=x, y=np.arange(64), t=[str(i) for i in range(64)]).shuffle(seed=5)
pipe = data.batch(16)
flat = NamedSharding(jax.make_mesh((8,), ("data",)), P("data"))
n = 0
for want, got in zip(pipe.to_numpy(), pipe.to_jax(sharding=flat), strict=True):
    assert got["x"].shape == (16, 6, 4) and len(got["x"].addressable_shards) == 8
    for shard in got["x"].addressable_shards:
        assert shard.data.shape == (2, 6, 4) and np.array_equal(shard.data, want["x"][shard.index])
    assert np.array_equal(got["x"], want["x"]) and np.array_equal(got["y"], want["y"]) and got["t"] == want["t"]
    assert float(jax.jit(lambda b: b.sum())(got["x"])) == want["x"].sum()
    n += 1
assert n == 4
# Two axes: the batch over one, channels over the other; labels have only the first.
both = NamedSharding(jax.make_mesh((2, 4), ("data", "model")), P("data", None, "model"))
batch = next(iter(pipe.to_jax(sharding=both)))
assert batch["x"].addressable_shards[0].data.shape == (8, 6, 1) and batch["y"].sharding.spec == P("data")
# Not split at all: every device has the whole batch.
whole = next(iter(pipe.to_jax(sharding=NamedSharding(flat.mesh, P()))))
assert whole["x"].addressable_shards[7].data.shape == (16, 6, 4)
# Another device than the first, still without a copy.
there = next(iter(pipe.to_jax(device=jax.devices()[5])))
assert there["x"].devices() == {jax.devices()[5]}
assert there["x"].unsafe_buffer_pointer() == np.asarray(there._core.column("x")).ctypes.data

def refused(pipe, **options):
    try:
        pipe.to_jax(sharding=flat, **options)
    except ValueError as error:
        return str(error)
    raise AssertionError("not refused")

assert "multiple of 8" in refused(data.batch(12))
assert refused(data.take(60).batch(16)) == (
    "the last batch of an epoch has 12 rows over all ranks, which cannot be split evenly over 8 devices;"
    ' use batch(..., drop_last=True) or batch(..., last="pad")'
)
assert len(list(data.take(56).batch(16).to_jax(sharding=flat))) == 4
assert len(list(data.take(60).batch(16, drop_last=True).to_jax(sharding=flat))) == 3
assert len(list(data.take(60).batch(16, last="pad").to_jax(sharding=flat))) == 4
assert "either sharding or device" in refused(pipe, device=jax.devices()[0])
assert "rank 0 of 1, and it was told to be rank 1 of 2" in refused(pipe, rank=1, world_size=2)
try:
    next(pipe.to_jax(sharding=flat).over([[1, 2, 3]]))
except ValueError as error:
    assert "3 rows cannot be split evenly over 8 devices" in str(error)
else:
    raise AssertionError("not refused")
print("fine")
"""


def test_mesh():
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    assert finish(start(MESH, XLA_FLAGS=flags)).split() == ["fine"]


PROCESSES = """
import sys, json
import jax, numpy as np
rank, port = int(sys.argv[1]), sys.argv[2]
jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=2, process_id=rank)
import infeed
from jax.sharding import NamedSharding, PartitionSpec as P
assert jax.process_count() == 2 and len(jax.devices()) == 4 and len(jax.local_devices()) == 2
x = np.arange(64 * 4, dtype=np.float32).reshape(64, 4)
data = infeed.arrays(x=x, y=np.arange(64)).shuffle(seed=5)
sharding = NamedSharding(jax.make_mesh((4,), ("data",)), P("data"))
loader = data.batch(8).to_jax(sharding=sharding)
assert (loader.world.rank, loader.world.size, len(loader)) == (rank, 2, 4)
total = jax.jit(lambda b: b.sum())
sums, mine = [], []
for batch in loader:
    assert batch["x"].shape == (16, 4) and len(batch["x"].addressable_shards) == 2
    local = np.concatenate([shard.data for shard in batch["y"].addressable_shards])
    assert np.array_equal(local, batch["__row__"])
    mine += local.tolist()
    sums.append(float(total(batch["x"])))
try:
    data.take(40).batch(8).to_jax(sharding=sharding)
except ValueError as error:
    assert 'last="pad"' in str(error)
else:
    raise AssertionError("not refused")
# Both processes hold the same half of the model and all of the batch: they are one rank, and read the same rows.
model = NamedSharding(jax.make_mesh((4,), ("model",)), P(None, "model"))
same = data.batch(8).to_jax(sharding=model)
assert (same.world.rank, same.world.size) == (0, 1)
batch = next(iter(same))
assert batch["x"].shape == (8, 4) and batch["x"].addressable_shards[0].data.shape == (8, 1)
print(json.dumps([mine, sums, float(total(batch["x"]))]))
"""


def test_two_processes_make_global_arrays():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    ranks = [start(PROCESSES, rank, port, XLA_FLAGS=flags) for rank in range(2)]
    (rows0, sums0, model0), (rows1, sums1, model1) = (json.loads(finish(rank).splitlines()[-1]) for rank in ranks)
    assert sorted(rows0 + rows1) == list(range(64)) and sums0 == sums1 and model0 == model1
    x = np.arange(64 * 4, dtype=np.float32).reshape(64, 4)
    want = [b["x"].sum() for b in infeed.arrays(x=x).shuffle(seed=5).batch(16).to_numpy()]
    assert sums0 == want
