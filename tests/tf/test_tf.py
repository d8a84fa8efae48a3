"""The TensorFlow door. Runs in an environment of its own: ``make test-tf``."""

from __future__ import annotations

import gc
import io
import json

import numpy as np
import pytest
from test_doors import snippet

import infeed
from infeed import transforms as T

tf = pytest.importorskip("tensorflow", reason="needs tensorflow: make test-tf")

from infeed.tf import TfLoader, loader_of  # noqa: E402

pytestmark = pytest.mark.timeout(300)

# Before TensorFlow looks at its devices: two, for tf.distribute.
CPU = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(CPU, [tf.config.LogicalDeviceConfiguration()] * 2)


def numbers(rows: int = 40, batch: int = 8, **how):
    x = np.random.default_rng(1).normal(size=(rows, 3, 5)).astype(np.float32)
    return infeed.arrays(x=x, y=np.arange(rows)).shuffle(seed=3).batch(batch, **how)


def address(tensor) -> int:
    return np.frombuffer(memoryview(tensor), np.uint8).ctypes.data


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@pytest.fixture(scope="module")
def mixed(tmp_path_factory) -> str:
    """Rows with a field of every kind."""
    folder = tmp_path_factory.mktemp("mixed")
    with infeed.ShardWriter(folder / "%d.tar", maxcount=6) as out:
        for i in range(10):
            sample = {"__key__": f"k{i}", "bin": bytes(range(i)), "cls": i, "json": {"a": [i, None]}}
            arrays = {"a.npy": npy(np.full((i % 4, 2), i, np.float64)), "b.npy": npy(np.full(i, i, np.int16))}
            out.write({**sample, **arrays, "txt": f"Größe {i}"})
    return str(folder / "*.tar")


def decoded(mixed: str, **how):
    arrays = {"a.npy": "npy", "b.npy": "npy"}
    return infeed.open(mixed).decode(cls="int", json="json", txt="text", **arrays).batch(4, **how)


def test_equals_numpy(shards):
    pipe = infeed.open(shards).shuffle(seed=2).decode(jpg="rgb", cls="int").map(T.RandomResizedCrop(24)).batch(8)
    dataset = pipe.to_tf()
    assert isinstance(dataset, tf.data.Dataset)
    assert dataset.element_spec == {
        "cls": tf.TensorSpec((None,), tf.int64),
        "jpg": tf.TensorSpec((None, 24, 24, 3), tf.uint8),
    }
    assert int(dataset.cardinality()) == len(dataset) == 7
    for want, got in zip(pipe.to_numpy(), dataset, strict=True):
        assert np.array_equal(got["jpg"], want["jpg"]) and np.array_equal(got["cls"], want["cls"])


DTYPES = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
DTYPES += ["float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_without_a_copy(name, monkeypatch):
    dtype = tf.as_dtype(name)
    data = (np.arange(24).reshape(6, 4) % 7).astype(dtype.as_numpy_dtype)
    dataset = infeed.arrays(x=data).batch(6).to_tf()
    lent = []
    plain = infeed.Loader._array

    def spy(self, array):
        out = plain(self, array)
        lent.append(out.ctypes.data)
        return out

    monkeypatch.setattr(infeed.Loader, "_array", spy)
    (batch,) = dataset
    assert batch["x"].dtype == dtype and batch["x"].numpy().tolist() == data.tolist()
    if name != "bfloat16":
        # TensorFlow lends bfloat16 to nobody.
        assert [address(batch["x"])] == lent


def test_batches_outlive_everything():
    want = [batch["x"].copy() for batch in numbers(400).to_numpy()]
    kept = [batch["x"] for batch in numbers(400).to_tf(prefetch=1)]
    gc.collect()
    assert all(np.array_equal(a, b) for a, b in zip(kept, want, strict=True))


def test_every_kind(mixed):
    dataset = decoded(mixed).to_tf()
    spec = dataset.element_spec
    assert spec["txt"] == spec["json"] == spec["bin"] == tf.TensorSpec((None,), tf.string)
    assert spec["a.npy"] == tf.RaggedTensorSpec((None, None, None), tf.float64, 2)
    assert spec["b.npy"] == tf.RaggedTensorSpec((None, None), tf.int16, 1)
    for want, got in zip(decoded(mixed).to_numpy(), dataset, strict=True):
        assert [text.decode() for text in got["txt"].numpy()] == want["txt"]
        assert [json.loads(text) for text in got["json"].numpy()] == want["json"]
        assert got["bin"].numpy().tolist() == [bytes(item) for item in want["bin"]]
        for name in ("a.npy", "b.npy"):
            assert got[name].to_list() == [item.tolist() for item in want[name]]


def test_images_of_all_sizes(shards):
    """Channels are the same everywhere and stay dense."""
    pipe = infeed.open(shards).decode(jpg="rgb").select("jpg").batch(4)
    assert pipe.to_tf().element_spec["jpg"] == tf.RaggedTensorSpec((None, None, None, 3), tf.uint8, 2)
    want, got = next(iter(pipe.to_numpy())), next(iter(pipe.to_tf()))
    assert got["jpg"].to_list() == [item.tolist() for item in want["jpg"]]
    padded = infeed.open(shards).decode(jpg="rgb").select("jpg").batch(4, ragged="pad")
    assert padded.to_tf().element_spec["jpg"] == tf.TensorSpec((None, None, None, 3), tf.uint8)
    assert np.array_equal(next(iter(padded.to_tf()))["jpg"], next(iter(padded.to_numpy()))["jpg"])


def test_masks_and_offsets(tmp_path):
    """They are declared before the first batch, in pipelines with and without Python functions."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"t": list(range(n)), "x": [0.5] * n}) + "\n" for n in (3, 1, 0, 2)))
    rows = infeed.jsonl(str(path))
    for data in (rows, rows.map(_same)):
        pipe = data.batch(3, ragged={"t": "pad", "x": "flat"}, pad_mask={"t": "there"})
        dataset = pipe.to_tf()
        assert dataset.element_spec["there"] == tf.TensorSpec((None, None), tf.bool)
        assert dataset.element_spec["x"] == tf.TensorSpec((None,), tf.float64)
        assert dataset.element_spec["x_offsets"] == tf.TensorSpec((None,), tf.int64)
        for want, got in zip(pipe.to_numpy(), dataset, strict=True):
            assert want.keys() == got.keys()
            for name, column in want.items():
                assert np.array_equal(got[name].numpy(), column), name


def _same(sample):
    return sample


def test_tuples(mixed):
    dataset = decoded(mixed).to_tuple("b.npy", "cls").to_tf()
    ragged, cls = next(iter(dataset))
    assert ragged.to_list() == [[], [1], [2, 2], [3, 3, 3]] and cls.numpy().tolist() == [0, 1, 2, 3]


def test_each_pass_is_the_next_epoch():
    dataset = numbers().to_tf()
    for epoch in range(3):
        want = [batch["y"].tolist() for batch in numbers().to_numpy(epoch=epoch)]
        assert [batch["y"].numpy().tolist() for batch in dataset] == want
    assert [b["y"].numpy().tolist() for b in dataset.take(2)] == [
        b["y"].tolist() for _, b in zip(range(2), numbers().to_numpy(epoch=3), strict=False)
    ]


def test_resume():
    want = [batch["y"].tolist() for batch in numbers().to_numpy()]
    for after in (0, 1, 4):
        dataset = numbers().to_tf()
        batches = iter(dataset)
        for _ in range(after):
            next(batches)
        state = loader_of(dataset).state_dict()
        again = numbers().to_tf(state=state)
        assert [b["y"].numpy().tolist() for b in again] == want[after:]
        # The pass after it is whole.
        assert [b["y"].numpy().tolist() for b in again] == [b["y"].tolist() for b in numbers().to_numpy(epoch=1)]


def test_resume_behind_a_prefetch():
    """TensorFlow has taken all batches; the model has seen two."""
    dataset = numbers().to_tf()
    ahead = dataset.batch(5).unbatch()
    batches = iter(ahead)
    next(batches)
    next(batches)
    loader = loader_of(ahead)
    assert isinstance(loader, TfLoader) and loader is loader_of(dataset) and loader is loader_of(dataset.prefetch(3))
    assert loader.state_dict()["step"] != 2 and loader.state_dict(after=2)["step"] == 2
    again = numbers().to_tf(state=loader.state_dict(after=2))
    assert [b["y"].numpy().tolist() for b in again] == [b["y"].tolist() for b in numbers().to_numpy()][2:]
    with pytest.raises(ValueError, match="no state after 9 batches: TensorFlow has taken 5"):
        loader.state_dict(after=9)


def test_a_promise_of_length_is_kept():
    dataset = numbers().to_tf()
    next(iter(dataset))
    loader = loader_of(dataset)
    with pytest.raises(RuntimeError, match=r"to_tf\(state=state\)"):
        loader.load_state_dict(loader.state_dict())
    assert int(numbers().to_tf(endless=True).cardinality()) == tf.data.INFINITE_CARDINALITY
    assert int(numbers().to_tf(state=loader.state_dict()).cardinality()) == tf.data.UNKNOWN_CARDINALITY
    with pytest.raises(ValueError, match="no infeed pipeline behind this dataset"):
        loader_of(tf.data.Dataset.range(3).map(lambda x: x))


def test_streams_have_no_length():
    dataset = infeed.stream(lambda: ({"x": str(i).encode()} for i in range(7))).decode(x="int").batch(3).to_tf()
    assert int(dataset.cardinality()) == tf.data.UNKNOWN_CARDINALITY
    assert [b["x"].numpy().tolist() for b in dataset] == [[0, 1, 2], [3, 4, 5], [6]]


def test_a_bad_sample_is_named(tmp_path):
    with infeed.ShardWriter(tmp_path / "%d.tar") as out:
        for i in range(8):
            out.write({"__key__": f"{i:02d}", "cls": b"no number" if i == 6 else i})
    pipe = infeed.open(str(tmp_path / "0.tar")).decode(cls="int").batch(4)
    seen = []
    with pytest.raises(tf.errors.OpError, match="row 6"):
        for batch in pipe.to_tf():
            seen.append(batch["cls"].numpy().tolist())
    assert seen == [[0, 1, 2, 3]]
    assert [len(b["cls"]) for b in pipe.to_tf(on_error="skip")] == [4, 3]


def test_keras():
    x = np.random.default_rng(0).normal(size=(256, 3)).astype(np.float32)
    y = x @ np.array([1, -2, 3], np.float32) + 0.5
    dataset = infeed.arrays(x=x, y=y).shuffle(seed=1).batch(32).to_tuple("x", "y").to_tf()
    loader = loader_of(dataset)
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    model.fit(dataset, epochs=2, steps_per_epoch=len(loader), verbose=0, shuffle=False)
    assert loader.epoch == 2
    model.fit(dataset.prefetch(2), epochs=8, verbose=0, shuffle=False)
    assert loader.epoch == 10
    assert np.allclose(model.layers[-1].kernel[:, 0], [1, -2, 3], atol=0.1)
    assert model.evaluate(dataset, verbose=0) < 0.01


def test_distribute():
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    want = [batch["y"].sum() for batch in numbers().to_numpy()]
    spread = strategy.experimental_distribute_dataset(numbers().to_tf())

    def total(batch):
        return tf.reduce_sum(batch["y"])

    got = [int(strategy.reduce("SUM", strategy.run(total, (batch,)), axis=None)) for batch in spread]
    assert got == want
    made = strategy.distribute_datasets_from_function(
        lambda context: numbers().to_tf(rank=context.input_pipeline_id, world_size=context.num_input_pipelines)
    )
    # Each replica takes a batch of its own: five batches in three steps.
    assert sum(1 for _ in made) == 3


def test_snippet():
    exec(compile(snippet("TensorFlow"), "doors.md, TensorFlow", "exec"), {})


def _plus(sample):
    return {
        "y": sample["y"] + 1.5,
        "t": f"row {sample['y']}",
        "image": np.full((2, 3), sample["y"], dtype=np.float32),
    }


def test_python_functions():
    rows = infeed.arrays(y=np.arange(10)).map(_plus)
    dataset = rows.batch(4).to_tf()
    assert dataset.element_spec["image"] == tf.TensorSpec((None, 2, 3), tf.float32)
    first = next(iter(dataset))
    np.testing.assert_array_equal(first["y"], [1.5, 2.5, 3.5, 4.5])
    assert first["t"].numpy().tolist() == [b"row 0", b"row 1", b"row 2", b"row 3"]
    image, y = next(iter(rows.batch(4).to_tuple("image", "y").to_tf()))
    assert image.shape == (4, 2, 3) and y.shape == (4,)
