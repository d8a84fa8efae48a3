"""The JAX door: arrays without a copy, on a mesh, over processes."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import infeed
from infeed import transforms as T

jax = pytest.importorskip("jax")
jnp = jax.numpy

from infeed.jax import JaxLoader  # noqa: E402

pytestmark = pytest.mark.timeout(300)


def numbers(rows: int = 48, batch: int = 8, **how):
    x = np.random.default_rng(1).normal(size=(rows, 16)).astype(np.float32)
    return infeed.arrays(x=x, y=np.arange(rows)).shuffle(seed=3).batch(batch, **how)


def start(code: str, *args: object, **env: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *map(str, args)]
    env = {**os.environ, "JAX_PLATFORMS": "cpu", **env}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    return out


def test_equals_numpy(shards):
    pipe = infeed.open(shards).shuffle(seed=2).decode(jpg="rgb", cls="int").map(T.RandomResizedCrop(24)).batch(8)
    for want, got in zip(pipe.to_numpy(), pipe.to_jax(), strict=True):
        assert isinstance(got["jpg"], jax.Array) and got["jpg"].dtype == jnp.uint8
        assert np.array_equal(got["jpg"], want["jpg"]) and np.array_equal(got["cls"], want["cls"])
        assert got["__key__"] == want["__key__"]


@pytest.mark.parametrize(
    "name", ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32"]
)
def test_every_dtype(name):
    data = (np.arange(24).reshape(6, 4) % 7).astype(name)
    (batch,) = infeed.arrays(x=data).batch(6).to_jax()
    assert batch["x"].dtype == data.dtype and np.array_equal(batch["x"], data)


def test_bfloat16(shards):
    pipe = infeed.open(shards).decode(jpg="rgb").map(T.CenterCrop(8), T.ToDtype("bf16")).select("jpg").batch(4)
    batch = next(iter(pipe.to_jax()))
    assert batch["jpg"].dtype == jnp.bfloat16
    assert float(batch["jpg"].astype(jnp.float32).max()) > 1


def test_wide_types_are_narrowed():
    (batch,) = (
        infeed.arrays(i=np.array([-1, 2**31 - 1]), u=np.array([0, 2**32 - 1], np.uint64), f=np.ones(2))
        .batch(2)
        .to_jax()
    )
    assert (batch["i"].dtype, batch["u"].dtype, batch["f"].dtype) == (jnp.int32, jnp.uint32, jnp.float32)
    assert batch["i"].tolist() == [-1, 2**31 - 1] and batch["u"].tolist() == [0, 2**32 - 1]
    with pytest.raises(OverflowError, match=r"does not fit into int32.*jax_enable_x64"):
        list(infeed.arrays(i=np.array([0, 2**31])).batch(2).to_jax())


def test_wide_types_stay_with_x64():
    code = """
    import numpy as np, infeed
    (batch,) = infeed.arrays(i=np.array([2**40]), f=np.array([1 / 3])).batch(1).to_jax()
    print(batch["i"].dtype, int(batch["i"][0]) == 2**40, batch["f"].dtype, float(batch["f"][0]) == 1 / 3)
    """
    assert finish(start(code, JAX_ENABLE_X64="1")).split() == ["int64", "True", "float64", "True"]


def test_no_copy_on_the_cpu():
    batch = next(iter(numbers().to_jax()))
    assert batch["x"].unsafe_buffer_pointer() == np.asarray(batch._core.column("x")).ctypes.data


def test_arrays_outlive_everything():
    """Memory of a batch is not used again while a jax.Array holds it."""
    want = [batch["x"].copy() for batch in numbers(480).to_numpy()]
    kept = [batch["x"] for batch in numbers(480).to_jax(prefetch=1)]
    gc.collect()
    assert all(np.array_equal(a, b) for a, b in zip(kept, want, strict=True))


def test_arrays_outlive_the_interpreter():
    code = """
    import numpy as np, infeed
    kept = [batch["x"] for batch in infeed.arrays(x=np.zeros((64, 16), np.float32)).batch(8).to_jax()]
    it = iter(infeed.arrays(x=np.zeros((64, 16), np.float32)).batch(8).to_jax())
    held = next(it)
    print(len(kept))
    """
    assert finish(start(code)).split() == ["8"]


def test_donated_memory_is_not_written():
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    for batch in numbers().to_jax():
        lent = np.asarray(batch._core.column("x"))
        before = lent.copy()
        after = step(batch["x"])
        assert np.array_equal(after, before + 1) and np.array_equal(lent, before)


def test_lists_stay_lists(shards):
    pipe = infeed.open(shards).decode(cls="text").batch(4)
    want, got = next(iter(pipe.to_numpy())), next(iter(pipe.to_jax()))
    assert got["cls"] == want["cls"] == ["0", "1", "2", "3"]
    assert isinstance(got["jpg"], list) and all(map(np.array_equal, got["jpg"], want["jpg"]))


def test_looks_ahead():
    loader = numbers().to_jax(ahead=2)
    took = []

    class Ready:
        """A run whose batches are finished whenever it is asked."""

        def __init__(self, run):
            self.run = run

        def ready(self):
            return True

        def take(self):
            batch = self.run.take()
            took.append(batch is not None)
            return batch

    made = loader._made(Ready(loader._core.start()))
    next(made)
    assert len(took) == 3
    next(made)
    assert len(took) == 4
    assert sum(1 for _ in made) == 4 and sum(took) == 6
    with pytest.raises(ValueError, match="ahead must not be negative"):
        numbers().to_jax(ahead=-1)


@pytest.mark.parametrize("ahead", [0, 3])
def test_rows_from_outside(ahead):
    rows = [[i, 47 - i] for i in range(40)]
    assert [batch["y"].tolist() for batch in numbers().to_jax(ahead=ahead).over(rows)] == rows


@pytest.mark.parametrize("ahead", [0, 2, 9])
def test_resume(ahead):
    pipe = numbers(70)
    for after in (0, 1, 3, 8):
        plain, loader = pipe.to_numpy(), pipe.to_jax(ahead=ahead)
        for _, batch in zip(range(after), plain, strict=False):
            assert batch
        batches = iter(loader)
        for _ in range(after):
            next(batches)
        state = loader.state_dict()
        assert state == plain.state_dict()
        batches.close()
        other = pipe.to_jax(ahead=ahead)
        other.load_state_dict(state)
        want = [batch["y"].tolist() for batch in pipe.to_numpy()][after:]
        assert [batch["y"].tolist() for batch in other] == want


def test_errors_come_in_order(tmp_path):
    """Batches before a bad sample are handed out, also when it was met while looking ahead."""
    with infeed.ShardWriter(tmp_path / "%d.tar") as out:
        for i in range(20):
            out.write({"__key__": f"{i:02d}", "cls": b"no number" if i == 13 else i})
    loader = infeed.open(str(tmp_path / "0.tar")).decode(cls="int").batch(4).to_jax(ahead=4)
    seen = []
    with pytest.raises(infeed.SampleError, match="row 13"):
        for batch in loader:
            seen.append(batch["cls"].tolist())
    assert seen == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_training_step():
    """A line is learned through jit and grad."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(256, 3)).astype(np.float32)
    y = x @ np.array([1, -2, 3], np.float32) + 0.5

    @jax.jit
    def step(params, x, y):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((x @ p["w"] + p["b"] - y) ** 2))(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss

    params = {"w": jnp.zeros(3), "b": jnp.zeros(())}
    loader = infeed.arrays(x=x, y=y).shuffle(seed=1).batch(32, drop_last=True).to_tuple("x", "y").to_jax()
    for _ in range(10):
        for images, labels in loader:
            params, loss = step(params, images, labels)
    assert step._cache_size() == 1
    assert float(loss) < 1e-3 and np.allclose(params["w"], [1, -2, 3], atol=0.05)


def test_travels():
    loader = numbers().to_jax(ahead=3)
    next(iter(loader))
    other = pickle.loads(pickle.dumps(loader))
    assert isinstance(other, JaxLoader) and other.ahead == 3 and other.state_dict() == loader.state_dict()
