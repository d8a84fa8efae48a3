"""The Arrow door: batches for pyarrow, Polars and pandas, without copying numbers."""

from __future__ import annotations

import gc
import io
import json
import pickle

import numpy as np
import pytest
from conftest import encode, photo

import infeed
from infeed import transforms as T

pa = pytest.importorskip("pyarrow")

import pyarrow.parquet as pq  # noqa: E402

from infeed.arrow_door import ArrowLoader  # noqa: E402


def numbers(rows: int = 40, batch: int = 8):
    x = np.random.default_rng(1).normal(size=(rows, 3, 5)).astype(np.float32)
    return infeed.arrays(x=x, y=np.arange(rows)).shuffle(seed=3).batch(batch)


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
            sample = {
                "__key__": f"k{i}",
                "bin": bytes(range(i)),
                "cls": i,
                "json": {"a": [i, None]},
                "npy": npy(np.full((i % 4, 2), i, np.float64)),
                "png": encode(photo(12 + i, 10, i), "PNG"),
                "txt": f"Größe {i}",
            }
            out.write(sample)
    return str(folder / "*.tar")


def decoded(mixed: str, **how):
    return infeed.open(mixed).decode(cls="int", json="json", npy="npy", png="rgb", txt="text").batch(4, **how)


@pytest.mark.parametrize(
    "name",
    ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"],
)
def test_every_dtype_without_a_copy(name):
    data = (np.arange(24).reshape(6, 4) % 7).astype(name)
    (batch,) = infeed.arrays(x=data, y=data[:, 0].copy()).batch(6).to_arrow()
    batch.validate(full=True)
    assert batch.schema.field("y").type == pa.from_numpy_dtype(data.dtype)
    assert batch["y"].to_numpy().tolist() == data[:, 0].tolist() and batch["x"].to_pylist() == data.tolist()


def test_numbers_share_the_memory_of_the_batch(monkeypatch):
    lent = []
    plain = infeed.Loader._array

    def spy(self, array):
        out = plain(self, array)
        lent.append(out.ctypes.data)
        return out

    loader = numbers().to_arrow()
    monkeypatch.setattr(infeed.Loader, "_array", spy)
    batch = next(iter(loader))
    assert [batch["x"].flatten().flatten().buffers()[1].address, batch["y"].buffers()[1].address] == lent


def test_booleans_and_missing_types(shards):
    (batch,) = infeed.arrays(x=np.arange(9) % 2 == 0).batch(9).to_arrow()
    assert batch["x"].to_pylist() == [True, False] * 4 + [True]
    pipe = infeed.open(shards).decode(jpg="rgb").map(T.CenterCrop(8), T.ToDtype("bf16")).batch(4)
    with pytest.raises(TypeError, match="no type for bfloat16, which the field 'jpg'"):
        pipe.to_arrow()


def test_batches_outlive_everything():
    want = [batch["x"].tolist() for batch in numbers(400).to_numpy()]
    kept = list(numbers(400).to_arrow(prefetch=1))
    gc.collect()
    assert [batch["x"].to_pylist() for batch in kept] == want


def test_every_kind(mixed):
    loader = decoded(mixed).to_arrow()
    number = pa.field("item", pa.float64(), nullable=False)
    assert loader.schema.field("npy").type == pa.list_(pa.field("item", pa.list_(number), nullable=False))
    assert str(loader.schema.field("png").type).count("fixed_size_list") == 1
    rows = 0
    for want, got in zip(decoded(mixed).to_numpy(), loader, strict=True):
        got.validate(full=True)
        assert got.schema == loader.schema
        assert got["cls"].to_pylist() == want["cls"].tolist() and got["txt"].to_pylist() == want["txt"]
        assert [json.loads(text) for text in got["json"].to_pylist()] == want["json"]
        assert got["bin"].to_pylist() == [bytes(item) for item in want["bin"]]
        for name in ("npy", "png"):
            assert got[name].to_pylist() == [item.tolist() for item in want[name]]
        rows += got.num_rows
    assert rows == 10


def test_padded_arrays_keep_one_schema(mixed):
    pipe = infeed.open(mixed).decode(png="rgb").select("png").batch(4, ragged="pad")
    loader = pipe.to_arrow()
    for want, got in zip(pipe.to_numpy(), loader, strict=True):
        got.validate(full=True)
        assert got.schema == loader.schema and got["png"].to_pylist() == want["png"].tolist()


def test_meta_and_tuples(mixed):
    plain = next(iter(decoded(mixed).to_numpy()))
    batch = next(iter(decoded(mixed).to_tuple("txt", "cls").to_arrow(meta=True)))
    assert batch.schema.names == ["txt", "cls", "__key__", "__row__", "__url__"]
    for name in ("__key__", "__row__", "__url__"):
        assert batch[name].to_pylist() == list(plain[name])


def test_polars(mixed):
    polars = pytest.importorskip("polars")
    batch = next(iter(numbers().to_arrow()))
    for frame in (polars.DataFrame(batch), polars.from_arrow(batch)):
        assert frame["y"].to_list() == batch["y"].to_pylist()
        assert frame["x"].dtype == polars.Array(polars.Float32, (3, 5))
        assert frame["x"].to_numpy().tolist() == batch["x"].to_pylist()
    # The loader is a stream: one epoch.
    frame = polars.DataFrame(decoded(mixed).to_arrow(meta=True))
    assert frame.height == 10 and frame["txt"].to_list() == [f"Größe {i}" for i in range(10)]
    assert frame["__row__"].to_list() == list(range(10))


def test_pandas_and_tables(mixed):
    pytest.importorskip("pandas")
    loader = numbers().to_arrow()
    frame = next(iter(loader)).to_pandas()
    assert len(frame) == 8 and sorted(frame["y"]) == sorted(next(iter(numbers().to_numpy()))["y"])
    table = pa.table(loader)
    assert loader.epoch == 2 and sorted(table["y"].to_pylist()) == list(range(40))
    assert loader.reader().schema == loader.schema
    assert pa.record_batch(next(iter(loader))).num_rows == 8


def test_resume():
    for after in (0, 2, 4):
        loader = numbers().to_arrow()
        batches = iter(loader)
        for _ in range(after):
            next(batches)
        other = numbers().to_arrow()
        other.load_state_dict(loader.state_dict())
        assert [b["y"].to_pylist() for b in other] == [b["y"].to_pylist() for b in batches]
    loader = numbers().to_arrow(meta=True)
    travelled = pickle.loads(pickle.dumps(loader))
    assert isinstance(travelled, ArrowLoader) and travelled.schema == loader.schema


def test_types_are_those_of_the_first_good_row(tmp_path):
    with infeed.ShardWriter(tmp_path / "%d.tar") as out:
        for i in range(6):
            out.write({"__key__": str(i), "npy": b"bad" if i < 2 else npy(np.full((2, 3), i, np.int8)), "cls": i})
    data = infeed.open(str(tmp_path / "0.tar")).decode(npy="npy", cls="int")
    for pipe in (data, data.filter("cls > 2")):
        loader = pipe.batch(4).to_arrow(on_error="skip")
        table = pa.table(loader)
        assert table["npy"].to_pylist() == [[[i] * 3] * 2 for i in table["cls"].to_pylist()]
        assert table["npy"].type.value_type.value_type == pa.int8()
    # Nothing good in sight: as the plan says.
    assert pa.table(data.filter("cls > 9").batch(4).to_arrow(on_error="skip")).num_rows == 0
    with pytest.raises(infeed.SampleError, match="row 0"):
        list(data.batch(4).to_arrow())


def test_a_change_of_type_is_an_error(tmp_path):
    with infeed.ShardWriter(tmp_path / "%d.tar") as out:
        for i in range(4):
            out.write({"__key__": str(i), "npy": npy(np.zeros(2, np.float32 if i < 3 else np.int8))})
    with pytest.raises(TypeError, match="'npy' began with 1-dimensional float32 and now has 1-dimensional int8"):
        list(infeed.open(str(tmp_path / "0.tar")).decode(npy="npy").batch(2).to_arrow())


def test_texts_and_bytes_that_are_not_there(tmp_path):
    """More than eight rows, so that the validity bits take several bytes; empty text is not null."""
    rows = [
        {"t": None if i % 3 == 0 else "" if i % 5 == 0 else f"é{i}" * i, "j": None if i % 4 == 0 else {"n": [i, "ü"]}}
        for i in range(21)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = pa.Table.from_batches(infeed.jsonl(tmp_path / "a.jsonl").batch(10).to_arrow())
    table.validate(full=True)
    assert table["t"].to_pylist() == [row["t"] for row in rows]
    assert [j and json.loads(j) for j in table["j"].to_pylist()] == [row["j"] for row in rows]
    blobs = pa.table({"b": [None if i == 4 else bytes([i] * i) for i in range(11)]})
    pq.write_table(blobs, tmp_path / "b.parquet")
    back = pa.Table.from_batches(infeed.parquet(tmp_path / "b.parquet").batch(4).to_arrow())
    back.validate(full=True)
    assert back["b"].to_pylist() == blobs["b"].to_pylist()
