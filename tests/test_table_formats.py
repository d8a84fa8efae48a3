"""Arrow, Hugging Face data sets, Polars, SQLite and Avro, each written by the library that owns it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from conftest import photo
from PIL import Image

import infeed

pa = pytest.importorskip("pyarrow")


def column(pipeline: infeed.Pipeline, name: str):
    return [x for batch in pipeline.batch(16).to_numpy(threads=2) for x in batch[name]]


def table(rows: int = 100) -> pa.Table:
    kinds = pa.array([("u", "v")[i % 2] for i in range(rows)]).dictionary_encode()
    return pa.table({"x": np.arange(rows), "t": [f"t{i}" for i in range(rows)], "k": kinds})


# Arrow


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
@pytest.mark.parametrize("kind", ["file", "stream", "feather"])
def test_arrow_files_and_streams(tmp_path, codec, kind):
    import pyarrow.feather

    path, whole = tmp_path / "t.arrow", table()
    if kind == "feather":
        pyarrow.feather.write_feather(whole, path, compression=codec or "uncompressed", chunksize=30)
    else:
        make = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with make(path, whole.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as out:
            out.write_table(whole, max_chunksize=30)
    for read in ("mmap", "pread"):
        pipeline = infeed.arrow(path, read=read)
        assert column(pipeline, "x") == list(range(100))
        assert column(pipeline, "t") == whole["t"].to_pylist()
        assert column(pipeline, "k") == whole["k"].to_pylist()
    assert column(infeed.arrow(path, columns=["t"], where="x in (3, 77)"), "t") == ["t3", "t77"]
    assert sorted(column(infeed.arrow(path, columns=["x"]).shuffle(seed=1), "x")) == list(range(100))


def test_polars_files(tmp_path):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"x": [1, 2, None], "s": ["a", None, "c"], "l": [[1.0], [2.0, 3.0], []]})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.arrow")
    for pipeline in (
        infeed.parquet(tmp_path / "t.parquet", fill={"x": 0, "s": ""}),
        infeed.arrow(tmp_path / "t.arrow", fill={"x": 0, "s": ""}),
    ):
        assert column(pipeline, "x") == [1, 2, 0]
        assert column(pipeline, "s") == ["a", "", "c"]


def test_bad_arrow_files(tmp_path):
    path, whole = tmp_path / "t.arrow", table()
    with pa.ipc.new_stream(path, whole.schema) as out:
        out.write_table(whole, max_chunksize=30)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(infeed.FormatError, match=r"t\.arrow.*cut off"):
        infeed.arrow(path).rows()
    path.write_bytes(b"nothing of the kind, whatever it is")
    with pytest.raises(infeed.FormatError, match="no Arrow file"):
        infeed.arrow(path).rows()
    with pytest.raises(ValueError, match="has no splits"):
        infeed.arrow(path, split="train").rows()


# Hugging Face


def test_data_sets_saved_to_disk(tmp_path):
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({"x": list(range(50)), "text": [f"t{i}" for i in range(50)]})
    data.save_to_disk(tmp_path / "one", num_shards=3)
    pipeline = infeed.arrow(tmp_path / "one")
    assert column(pipeline, "x") == list(range(50))
    assert column(pipeline, "text") == data["text"][:]
    both = datasets.DatasetDict({"train": data, "test": data.select(range(5))})
    both.save_to_disk(tmp_path / "both")
    assert column(infeed.arrow(tmp_path / "both", split="test"), "x") == list(range(5))
    with pytest.raises(ValueError, match=r"several splits.*train, test"):
        infeed.arrow(tmp_path / "both").rows()
    with pytest.raises(ValueError, match=r"no split \"valid\" .*train, test"):
        infeed.arrow(tmp_path / "both", split="valid").rows()


def test_files_of_the_cache(tmp_path):
    datasets = pytest.importorskip("datasets")
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(f'{{"x": {i}, "text": "t{i}"}}\n' for i in range(40)))
    data = datasets.load_dataset("json", data_files={"train": str(source)}, cache_dir=str(tmp_path / "cache"))[
        "train"
    ]
    names = [file["filename"] for file in data.cache_files]
    assert column(infeed.arrow(names), "x") == list(range(40))
    folder = str(names[0]).rsplit("/", 1)[0]
    assert column(infeed.arrow(folder), "text") == data["text"][:]


def test_image_feature(tmp_path):
    datasets = pytest.importorskip("datasets")
    pixels = [photo(30, 20, i) for i in range(4)]
    pictures = [Image.fromarray(p) for p in pixels]
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["a", "b"])})
    data = datasets.Dataset.from_dict({"image": pictures, "label": [0, 1, 0, 1]}, features=features)
    data.save_to_disk(tmp_path / "pictures")
    data.to_parquet(tmp_path / "pictures.parquet")
    for pipeline in (infeed.arrow(tmp_path / "pictures"), infeed.parquet(tmp_path / "pictures.parquet")):
        batch = next(iter(pipeline.decode(image="rgb").batch(4).to_numpy()))
        # Saved as PNG: exactly the same.
        np.testing.assert_array_equal(np.stack([np.asarray(i) for i in batch["image"]]), np.stack(pixels))
        assert list(batch["label"]) == [0, 1, 0, 1]


# SQLite


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, price REAL, name TEXT, data BLOB, size)")
        rows = [(i * 3, i / 2, f"n{i}", bytes([i % 256]), i) for i in range(100)]
        db.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?)", rows)
        db.execute("CREATE VIEW cheap AS SELECT id, price FROM items WHERE price < 10")
        db.execute("CREATE TABLE pairs (a TEXT, b INTEGER, v REAL, PRIMARY KEY (a, b)) WITHOUT ROWID")
        db.executemany("INSERT INTO pairs VALUES (?, ?, ?)", [(f"k{i % 3}", i, i * 1.5) for i in range(20)])
    db.close()
    return path


def test_sqlite_tables_views_and_queries(database):
    pipeline = infeed.sqlite(database, table="items", page=7)
    assert pipeline.rows() == 100
    assert column(pipeline, "id") == [i * 3 for i in range(100)]
    assert column(pipeline, "price") == [i / 2 for i in range(100)]
    assert column(pipeline, "name") == [f"n{i}" for i in range(100)]
    assert column(pipeline, "size") == list(range(100))
    assert sorted(column(pipeline.select("id").shuffle(seed=1), "id")) == [i * 3 for i in range(100)]
    assert column(infeed.sqlite(database, table="cheap", key="id", page=6), "id") == [i * 3 for i in range(20)]
    query = "SELECT id, price * 2 AS double FROM items WHERE id % 2 = 0"
    pipeline = infeed.sqlite(database, query=query, key="id", page=9)
    assert column(pipeline, "double") == [float(i) for i in range(0, 100, 2)]
    pairs = infeed.sqlite(database, table="pairs", key=["a", "b"], page=3)
    want = sorted((f"k{i % 3}", i) for i in range(20))
    assert list(zip(column(pairs, "a"), column(pairs, "b"), strict=True)) == want


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({}, "several tables.*cheap, items, pairs"),
        ({"table": "nothing"}, "no table `nothing`.*cheap, items, pairs"),
        ({"table": "cheap"}, "give key="),
        ({"table": "pairs"}, "give key="),
        ({"query": "SELECT * FROM items"}, "give key="),
        ({"table": "items", "key": "q"}, "no column `q`"),
        ({"table": "pairs", "key": "a"}, "more than once"),
        ({"table": "items", "query": "SELECT 1", "key": "id"}, "not both"),
    ],
)
def test_sqlite_mistakes(database, args, message):
    with pytest.raises(ValueError, match=message):
        infeed.sqlite(database, **args).rows()


def test_sqlite_values_of_another_type(database):
    with sqlite3.connect(database) as db:
        db.execute("UPDATE items SET price = 'free' WHERE id = 30")
    db.close()
    with pytest.raises(infeed.SampleError, match=r"column `price` is Text"):
        column(infeed.sqlite(database, table="items"), "price")
    with pytest.raises(infeed.FormatError, match="no SQLite database"):
        other = database.with_name("other.db")
        other.write_bytes(b"not a database at all")
        infeed.sqlite(other, table="x").rows()


def test_sqlite_that_is_being_written(database):
    # Locks are between processes: the writer must be one of its own.
    code = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('BEGIN EXCLUSIVE'); "
    code += "print('go', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None and writer.stdout.readline() == b"go\n"
        with pytest.raises(OSError, match="another program writes to it"):
            infeed.sqlite(database, table="items").rows()
        writer.communicate(b"\n")
    assert infeed.sqlite(database, table="items").rows() == 100


# Avro


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard"])
def test_avro(tmp_path, codec):
    fastavro = pytest.importorskip("fastavro")
    schema = {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "x", "type": "long"},
            {"name": "f", "type": ["null", "double"]},
            {"name": "s", "type": "string"},
            {"name": "inner", "type": {"type": "record", "name": "i", "fields": [{"name": "z", "type": "int"}]}},
        ],
    }
    rows = [{"x": i, "f": None if i % 4 == 0 else i / 2, "s": f"s{i}", "inner": {"z": i}} for i in range(500)]
    path = tmp_path / "t.avro"
    try:
        with path.open("wb") as out:
            fastavro.writer(out, fastavro.parse_schema(schema), rows, codec=codec, sync_interval=1000)
    except ValueError:
        pytest.skip(f"fastavro has no {codec} here")
    pipeline = infeed.avro(path)
    assert column(pipeline, "x") == list(range(500))
    assert column(pipeline, "s") == [f"s{i}" for i in range(500)]
    assert column(pipeline, "inner.z") == list(range(500))
    np.testing.assert_array_equal(column(pipeline, "f"), [np.nan if i % 4 == 0 else i / 2 for i in range(500)])
    assert column(infeed.avro(path, columns=["s"], where="x > 497"), "s") == ["s498", "s499"]
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(infeed.FormatError, match=r"sync marker after block .*"):
        infeed.avro(path).rows()


def test_a_table_of_any_format(tmp_path, database):
    with pa.ipc.new_file(tmp_path / "t.arrow", table().schema) as out:
        out.write_table(table())
    got = infeed.table(tmp_path / "t.arrow", features=["x"], categories={"k": "auto"}, label="k")
    assert column(got, "k") == [i % 2 for i in range(100)]
    got = infeed.table(database, features=["price", "size"], label="id", table="items")
    assert np.array(column(got, "features")).shape == (100, 2)
