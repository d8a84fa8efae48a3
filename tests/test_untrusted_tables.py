"""Tables, databases and records that are damaged, hostile, or written by other programs."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import infeed

IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def skipping(pipeline, **options):
    """All batches of one row each, and the errors of the rows that were left out."""
    loader = pipeline.batch(1, ragged="list").to_numpy(threads=1, on_error="skip", error_limit=10**6, **options)
    with loader:
        batches = [batch for batch in loader if len(next(iter(batch.values())))]
        return batches, [bad["error"] for bad in loader.stats()["bad"]]


def test_cells_cannot_name_files_elsewhere(tmp_path):
    inside = tmp_path / "table"
    inside.mkdir()
    (inside / "own.bin").write_bytes(b"own")
    (tmp_path / "secret.bin").write_bytes(b"secret")
    os.mkfifo(inside / "pipe")
    (inside / "link.bin").symlink_to(tmp_path / "secret.bin")
    paths = ["own.bin", "/etc/passwd", "../secret.bin", "link.bin", "/dev/zero", "pipe", "pipe:echo hello"]
    table = pa.table({"image": pa.array([{"bytes": None, "path": p} for p in paths], IMAGE)})
    pq.write_table(table, inside / "t.parquet")
    batches, errors = skipping(infeed.parquet(inside / "t.parquet"))
    assert [bytes(b["image"][0]) for b in batches] == [b"own"]
    assert len(errors) == len(paths) - 1 and all(
        "files=" in e or "regular file" in e or "not found" in e for e in errors
    )
    batches, errors = skipping(infeed.parquet(inside / "t.parquet", files=str(tmp_path)))
    assert [bytes(b["image"][0]) for b in batches] == [b"own", b"secret"]


def test_cells_may_name_files_below_their_table_by_absolute_paths(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "own.bin").write_bytes(b"own")
    (tmp_path / "outside.bin").write_bytes(b"outside")
    paths = [tmp_path / "a" / "in.bin", tmp_path / "outside.bin", tmp_path / "a" / ".." / "own.bin"]
    paths[0].write_bytes(b"in")
    table = pa.table({"image": pa.array([{"bytes": None, "path": str(p)} for p in paths], IMAGE)})
    pq.write_table(table, tmp_path / "a" / "t.parquet")
    monkeypatch.chdir(tmp_path)
    for name in (tmp_path / "a" / "t.parquet", "a/t.parquet", "./a/t.parquet", f"file://{tmp_path}/a/t.parquet"):
        batches, errors = skipping(infeed.parquet(name))
        assert [bytes(b["image"][0]) for b in batches] == [b"in"], name
        assert len(errors) == 2 and all("outside of the table's folder" in e for e in errors)


@pytest.mark.parametrize("depth", [50, 101, 300])
def test_deep_types_are_read_or_refused(tmp_path, depth):
    kind, value = pa.int32(), 7
    for _ in range(depth):
        kind, value = pa.list_(kind), [value]
    table = pa.table({"x": pa.array([value], kind), "y": [1]})
    pq.write_table(table, tmp_path / "t.parquet", store_schema=False)
    if depth > 100:
        with pytest.raises(infeed.FormatError, match="more than 100 levels deep"):
            infeed.open(tmp_path / "t.parquet").rows()
        return
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
        out.write_table(table)
    for path in (tmp_path / "t.parquet", tmp_path / "t.arrow"):
        batches, errors = skipping(infeed.open(path))
        assert batches[0]["x"][0] == value and not errors


def test_a_row_group_larger_than_the_memory(tmp_path):
    table = pa.table({"x": np.full(5_000_000, 7), "y": np.arange(5_000_000) % 3})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=2**31 - 1, compression="zstd")
    loader = infeed.parquet(tmp_path / "t.parquet").batch(4).to_numpy(threads=1, memory="20MB")
    with pytest.raises(infeed.SampleError, match=r"row group 0 of .*memory="):
        next(iter(loader))
    loader = infeed.parquet(tmp_path / "t.parquet").batch(4).to_numpy(threads=1, memory="400MB")
    assert next(iter(loader))["x"].tolist() == [7] * 4


def test_the_memory_of_one_loader_is_not_that_of_the_next(tmp_path):
    pq.write_table(pa.table({"x": np.full(5_000_000, 7)}), tmp_path / "t.parquet", row_group_size=2**31 - 1)
    pipeline = infeed.parquet(tmp_path / "t.parquet").batch(4)
    small = pipeline.to_numpy(threads=1, memory="20MB")
    with pytest.raises(infeed.SampleError, match=r"row group 0 of .*memory="):
        next(iter(small))
    assert next(iter(pipeline.to_numpy(threads=1)))["x"].tolist() == [7] * 4
    with pytest.raises(infeed.SampleError, match=r"row group 0 of .*memory="):
        next(iter(pipeline.to_numpy(threads=1, memory="20MB")))


def test_old_times_beyond_nanoseconds_are_bad_rows(tmp_path):
    times = pa.array([0, 86_400_000_000, 253_402_300_799_000_000], pa.timestamp("us"))
    table = pa.table({"t": times, "x": [0, 1, 2]})
    pq.write_table(table, tmp_path / "t.parquet", use_deprecated_int96_timestamps=True, store_schema=False)
    batches, errors = skipping(infeed.parquet(tmp_path / "t.parquet"))
    assert [b["t"].item() for b in batches] == [0, 86_400 * 10**9]
    assert len(errors) == 1 and "1677 to 2262" in errors[0]


def test_old_times_within_lists_and_structs(tmp_path):
    good, bad = datetime(2000, 1, 1), datetime(9999, 1, 1)
    time = pa.timestamp("us")
    columns = {
        "list": pa.array([[good, good], [], [good, bad], None, [good]], pa.list_(time)),
        "struct": pa.array(
            [{"n": 1, "t": t} for t in (good, bad, good, good, good)], pa.struct({"n": "int64", "t": time})
        ),
        "map": pa.array([[("a", good)], None, [("b", bad)], [], [("c", good)]], pa.map_("string", time)),
    }
    wrong = {"list": [2], "struct": [1], "map": [2]}
    table = pa.table({**columns, "x": range(5)})
    pq.write_table(table, tmp_path / "t.parquet", use_deprecated_int96_timestamps=True, store_schema=False)
    for name, rows in wrong.items():
        batches, errors = skipping(infeed.parquet(tmp_path / "t.parquet", columns=[name, "x"]))
        assert [b["x"].item() for b in batches] == [row for row in range(5) if row not in rows], name
        assert len(errors) == 1 and f"column `{name}`" in errors[0] and "1677 to 2262" in errors[0]


def test_encrypted_parquet_is_called_encrypted(tmp_path):
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Kms(encryption.KmsClient):
        def wrap_key(self, key_bytes, master_key_identifier):
            return key_bytes.hex()

        def unwrap_key(self, wrapped_key, master_key_identifier):
            return bytes.fromhex(wrapped_key)

    for plaintext in (False, True):
        config = encryption.EncryptionConfiguration(
            footer_key="f", column_keys={"c": ["x"]}, plaintext_footer=plaintext, double_wrapping=False
        )
        factory = encryption.CryptoFactory(lambda _: Kms())
        properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), config)
        table = pa.table({"x": list(range(100)), "y": list(range(100))})
        path = tmp_path / f"{plaintext}.parquet"
        with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as out:
            out.write_table(table)
        with pytest.raises(ValueError, match="is encrypted"):
            infeed.parquet(path).rows()


def test_unions_and_dictionaries_of_structs(tmp_path):
    union = pa.UnionArray.from_sparse(
        pa.array([0, 1, 0], pa.int8()), [pa.array([1, None, 3]), pa.array(["a", "b", "c"])], ["i", "t"]
    )
    values = pa.array([{"a": 1, "b": "x"}, {"a": None, "b": "y"}])
    structs = pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.int8()), values)
    table = pa.table({"u": union, "s": structs})
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
        out.write_table(table)
    batches, errors = skipping(infeed.arrow(tmp_path / "t.arrow", fill={"s.a": -1}))
    assert not errors
    assert [b["u"][0] for b in batches] == [1, "b", 3]
    assert [b["s.a"].item() for b in batches] == [-1, 1, -1]
    assert [b["s.b"][0] for b in batches] == ["y", "x", None]


def avro(path, schema, rows, count=None, codec=None):
    """A file that fastavro wrote, with another number of rows in its block."""
    fastavro = pytest.importorskip("fastavro")
    with open(path, "wb") as file:
        fastavro.writer(file, schema, rows, codec=codec or "null", sync_marker=b"S" * 16)
    if count is not None:
        data = path.read_bytes()
        at = data.index(b"S" * 16) + 16
        assert data[at] == 2 * len(rows)
        path.write_bytes(data[:at] + bytes([2 * count]) + data[at + 1 :])
    return path


def test_damaged_avro_ends(tmp_path):
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "a", "type": "long"}, {"name": "s", "type": "string"}],
    }
    rows = [{"a": i, "s": "text"} for i in range(30)]
    for count, word in ((29, "behind the last"), (31, "cannot be decoded")):
        path = avro(tmp_path / f"{count}.avro", schema, rows, count)
        found = []
        worker = threading.Thread(target=lambda path=path, found=found: found.append(skipping(infeed.avro(path))))
        worker.start()
        worker.join(60)
        assert not worker.is_alive(), "it never ends"
        batches, errors = found[0]
        assert not batches and all(word in error for error in errors)


def test_avro_with_named_types(tmp_path):
    triple = {"type": "record", "name": "test.Triple", "fields": [{"name": "a", "type": "string"}]}
    fields = [{"name": "left", "type": triple}, {"name": "right", "type": "test.Triple"}]
    schema = {"type": "record", "name": "test.Pair", "fields": fields}
    rows = [{"left": {"a": "l"}, "right": {"a": "r"}}]
    for codec in ("null", "deflate", "snappy", "zstandard"):
        try:
            path = avro(tmp_path / f"{codec}.avro", schema, rows, codec=codec)
        except ValueError:
            continue  # fastavro lacks the library for it
        batches, errors = skipping(infeed.avro(path, columns=["right"]))
        assert not errors and [list(b) for b in batches] == [["right.a"]] and batches[0]["right.a"] == ["r"]
    path = avro(tmp_path / "bzip2.avro", schema, rows, codec="bzip2")
    with pytest.raises(ValueError, match="compressed with `bzip2`"):
        infeed.avro(path).rows()


def test_sqlite_leaves_nothing_behind(tmp_path):
    with sqlite3.connect(tmp_path / "t.db") as made:
        made.execute("pragma journal_mode=wal")
        made.execute("create table t(id integer primary key, a int, b int generated always as (a + 1) virtual)")
        made.executemany("insert into t(id, a) values(?, ?)", [(i, i) for i in range(64)])
    made.close()
    assert os.listdir(tmp_path) == ["t.db"]
    loader = infeed.sqlite(tmp_path / "t.db").batch(4).to_numpy(threads=1)
    batches = iter(loader)
    assert next(batches)["b"].tolist() == [1, 2, 3, 4] and os.listdir(tmp_path) == ["t.db"]
    assert len(list(batches)) == 15
    loader.close()
    assert os.listdir(tmp_path) == ["t.db"]


def test_sqlite_values_that_are_computed(tmp_path):
    with sqlite3.connect(tmp_path / "t.db") as made:
        made.execute(
            "create table t(id integer primary key, b blob generated always as (zeroblob(900000000)) virtual)"
        )
        made.executemany("insert into t(id) values(?)", [(i,) for i in range(8)])
    made.close()
    batches, errors = skipping(infeed.sqlite(tmp_path / "t.db"), memory="200MB")
    assert not batches and len(errors) == 8 and "memory=" in errors[0]


@pytest.mark.parametrize("packed", [False, True])
def test_fields_keep_the_order_of_the_file(tmp_path, packed):
    import gzip

    files = {"t.csv": "z,a,m\n1,2,3\n4,5,6\n", "t.jsonl": '{"z": 1, "a": 2, "m": 3}\n{"z": 4, "a": 5, "m": 6}\n'}
    for name, text in files.items():
        path = tmp_path / (name + ".gz" if packed else name)
        path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
        pipeline = infeed.open(path).batch(2)
        assert list(next(iter(pipeline.to_numpy()))) == ["z", "a", "m"]
        table = next(iter(pipeline.to_arrow()))
        assert table.schema.names == ["z", "a", "m"] and table["a"].to_pylist() == [2, 5]


def test_ragged_rows_are_bad_wherever_they_are(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1\n2,x\n3,y,z\n4,w\n")
    batches, errors = skipping(infeed.csv(tmp_path / "t.csv"))
    assert [b["a"].item() for b in batches] == [2, 4] and len(errors) == 2
    assert "line 2: the row has 1 fields" in errors[0]
    pipeline = infeed.table(tmp_path / "t.csv", features=["a"])
    loader = pipeline.batch(1).to_numpy(threads=1, on_error="skip")
    assert [x for b in loader for x in b["features"].ravel().tolist()] == [2.0, 4.0]


def test_json_that_no_parser_takes_is_a_bad_row(tmp_path):
    deep = lambda n: "[" * n + "]" * n  # noqa: E731
    long = '{"a": ' + "9" * 5000 + "}"
    good = ['{"a": 1}', deep(50), '{"a": 1.5e999}']
    samples = [{"__key__": f"k{i}", "json": text} for i, text in enumerate([*good, deep(2000), long])]
    path = tar_of(tmp_path / "t.tar", samples)
    batches, errors = skipping(infeed.tar(path, index="off").decode(json="json"))
    assert len(batches) == 3 and len(errors) == 2
    assert "100 levels" in errors[0] and "5000 digits" in errors[1]
    lines = [json.dumps({"b": [1]}), '{"b": ' + deep(2000) + "}", '{"b": [' + "9" * 5000 + ', "x"]}']
    (tmp_path / "t.jsonl").write_text("\n".join(lines) + "\n")
    batches, errors = skipping(infeed.jsonl(tmp_path / "t.jsonl"))
    assert len(batches) == 1 and len(errors) == 2


def tar_of(path, samples):
    """A tar of samples, each with its key."""
    import io
    import tarfile

    with tarfile.open(path, "w") as tar:
        for sample in samples:
            data = sample["json"].encode()
            info = tarfile.TarInfo(f"{sample['__key__']}.json")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def test_compressed_tfrecords_without_the_ending(tmp_path):
    import gzip

    (tmp_path / "t.tfrecord").write_bytes(gzip.compress(b"whatever" * 10))
    with pytest.raises(ValueError, match=r"is compressed \(gzip\).*t\.tfrecord\.gz"):
        infeed.tfrecord(tmp_path / "t.tfrecord").rows()
