"""TFRecord, MDS and LMDB: against their own libraries if installed, and against bytes written by hand."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import jpeg
from test_records import flat, rows_of

import infeed

lmdb = pytest.importorskip("lmdb")
zstandard = pytest.importorskip("zstandard")

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def masked(data: bytes) -> bytes:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def framed(record: bytes) -> bytes:
    length = struct.pack("<Q", len(record))
    return length + masked(length) + record + masked(record)


def varint(n: int) -> bytes:
    n &= (1 << 64) - 1
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out + bytes([n]))


def part(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(features: dict, packed: bool = True) -> bytes:
    out = b""
    for name, value in features.items():
        if isinstance(value, bytes):
            feature = part(1, part(1, value))
        elif all(isinstance(x, int) for x in value):
            one = [varint(x) for x in value]
            feature = part(3, part(1, b"".join(one)) if packed else b"".join(b"\x08" + x for x in one))
        else:
            one = [struct.pack("<f", x) for x in value]
            feature = part(2, part(1, b"".join(one)) if packed else b"".join(b"\x0d" + x for x in one))
        out += part(1, part(1, name.encode()) + part(2, feature))
    return part(1, out)


def some_records(count: int = 30) -> list[bytes]:
    rng = np.random.default_rng(1)
    return [rng.bytes(int(n)) for n in rng.integers(0, 3000, count)]


def test_records_as_they_are(tmp_path):
    records = some_records()
    (tmp_path / "a.tfrecord").write_bytes(b"".join(map(framed, records[:20])))
    (tmp_path / "b.tfrecord").write_bytes(b"".join(map(framed, records[20:])))
    found = [r["record"] for r in rows_of(infeed.open(tmp_path))]
    assert [bytes(r) for r in found] == records
    packed = tmp_path / "c.tfrecord.gz"
    packed.write_bytes(gzip.compress(b"".join(map(framed, records))))
    assert [bytes(r["record"]) for r in rows_of(infeed.open(packed))] == records
    bare = tmp_path / "train-00000-of-00001"
    bare.write_bytes(framed(b"abc"))
    assert bytes(rows_of(infeed.open(bare))[0]["record"]) == b"abc"


def test_a_record_that_looks_like_gzip(tmp_path):
    """A length of 35,615 bytes begins with the two bytes of gzip."""
    data = framed(bytes(0x8B1F))
    assert data.startswith(b"\x1f\x8b")
    (tmp_path / "a.tfrecord").write_bytes(data)
    (tmp_path / "b.tfrecord.gz").write_bytes(gzip.compress(framed(b"x")))
    found = rows_of(infeed.tfrecord([tmp_path / "a.tfrecord", tmp_path / "b.tfrecord.gz"]))
    assert [len(r["record"]) for r in found] == [0x8B1F, 1]


@pytest.mark.parametrize("packed", [True, False])
def test_examples(tmp_path, packed):
    rows = [
        {"image": jpeg(i, 40, 30), "label": [i - 5], "box": [0.5 * i, 1.0, -2.0], "ids": list(range(2, 4 + i % 3))}
        for i in range(20)
    ]
    path = tmp_path / "a.tfrecord"
    path.write_bytes(b"".join(framed(example(r, packed)) for r in rows))
    kinds = {"image": "bytes", "label": "int32", "box": "float32[3]", "ids": "int64[]"}
    batch = next(iter(infeed.tfrecord(path, features=kinds).batch(20).to_numpy()))
    assert batch["label"].dtype == np.int32 and batch["label"].tolist() == [r["label"][0] for r in rows]
    assert batch["box"].shape == (20, 3) and batch["box"].tolist() == [r["box"] for r in rows]
    assert [x.tolist() for x in batch["ids"]] == [r["ids"] for r in rows]
    auto = infeed.tfrecord(path, features="auto").decode(image="rgb").batch(20)
    batch = next(iter(auto.to_numpy()))
    assert batch["label"].tolist() == [r["label"][0] for r in rows] and batch["box"][0].dtype == np.float32
    assert batch["image"][0].shape == (30, 40, 3)
    wrong = infeed.tfrecord(path, features={"label": "float32[2]"}).batch(20)
    with pytest.raises(infeed.SampleError, match=r"row 0.*field `label`: expected f32\[2\], found 1 numbers"):
        list(wrong.to_numpy())
    with pytest.raises(ValueError, match="unknown type `int65`"):
        infeed.tfrecord(path, features={"label": "int65"}).explain()


def test_damaged_records(tmp_path):
    records = some_records(10)
    data = bytearray(b"".join(map(framed, records)))
    path = tmp_path / "a.tfrecord"
    third = sum(len(r) + 16 for r in records[:3])
    data[third + 12] ^= 1
    path.write_bytes(data)
    with pytest.raises(infeed.SampleError, match=r"a.tfrecord`, row 3, .*checksum of the record does not fit"):
        rows_of(infeed.tfrecord(path))
    assert len(rows_of(infeed.tfrecord(path, check=False))) == 10
    assert len(rows_of(infeed.tfrecord(path), on_error="skip")) == 9
    data[third] ^= 1
    path.write_bytes(data)
    with pytest.raises(
        infeed.FormatError, match=rf"a.tfrecord` is damaged at byte {third}: the checksum of a record's length"
    ):
        infeed.tfrecord(path).explain()
    path.write_bytes(data[: third - 2])
    with pytest.raises(infeed.FormatError, match="cut off inside a record"):
        infeed.tfrecord(path).explain()


def test_index_files(tmp_path):
    records = [b"a" * 10, b"b" * 20, b"c" * 30]
    path = tmp_path / "a.tfrecord"
    path.write_bytes(b"".join(map(framed, records)))
    right = "0 26\n26 36\n62 46\n"
    for text in (right, "0 26\n26 82\n", "nonsense\n", "0 20\n20 42\n62 46\n"):
        (tmp_path / "a.tfrecord.index").write_text(text)
        assert [bytes(r["record"]) for r in rows_of(infeed.tfrecord(path))] == records
    assert len(rows_of(infeed.tfrecord(path, index="off"))) == 3


def test_tfrecords_shuffle_resume_and_share(tmp_path):
    for p in range(2):
        rows = [framed(example({"id": [i]})) for i in range(90) if i % 2 == p]
        (tmp_path / f"{p}.tfrecord").write_bytes(b"".join(rows))
    pipeline = infeed.tfrecord(str(tmp_path), features="auto").shuffle(seed=2).batch(8)
    check_order(pipeline, lambda batch: batch["id"].tolist(), 90)


def check_order(pipeline, ids, count: int) -> None:
    """Epochs are whole and shuffled, the same for any number of threads, resumable, and shared among ranks."""
    loader = pipeline.to_numpy()
    batches, states = [], []
    for batch in loader:
        batches.append(ids(batch))
        states.append(loader.state_dict())
    assert sorted(flat(batches)) == list(range(count)) and flat(batches) != list(range(count))
    assert [ids(b) for b in pipeline.to_numpy(threads=1)] == batches
    other = pipeline.to_numpy()
    other.load_state_dict(states[3])
    assert [ids(b) for b in other] == batches[4:]
    shares = [[x for b in pipeline.to_numpy(rank=r, world_size=2) for x in ids(b)] for r in range(2)]
    assert set(flat(shares)) == set(range(count))


SIZES = {"int": 8, "uint8": 1, "float32": 4, "ndarray:int16:2,2": 8}


def encode(encoding: str, value) -> bytes:
    """What the encodings of MDS are, from their description."""
    if encoding == "int":
        return struct.pack("<q", value)
    if encoding in ("uint8", "float32"):
        return np.dtype(encoding).type(value).tobytes()
    if encoding == "str":
        return value.encode()
    if encoding == "json":
        return json.dumps(value).encode()
    if encoding == "ndarray":
        codes = {"uint8": 8, "int64": 65, "float32": 34}
        shape = np.array(value.shape, np.uint8).tobytes()
        return bytes([codes[value.dtype.name], value.ndim << 2]) + shape + value.tobytes()
    if encoding.startswith("ndarray"):
        return value.tobytes()
    return value


def write_mds(folder: Path, columns: dict, rows: list[dict], per_shard: int = 7, packed: str | None = None) -> str:
    folder.mkdir(exist_ok=True)
    shards = []
    names = sorted(columns)
    for at in range(0, len(rows), per_shard):
        samples = []
        for row in rows[at : at + per_shard]:
            data = [encode(columns[name], row[name]) for name in names]
            heads = [
                struct.pack("<I", len(d)) for name, d in zip(names, data, strict=True) if columns[name] not in SIZES
            ]
            samples.append(b"".join(heads + data))
        config = b'{"a": 1}'
        start = 4 * (len(samples) + 2) + len(config)
        offsets = np.cumsum([start] + [len(s) for s in samples]).astype(np.uint32)
        raw = struct.pack("<I", len(samples)) + offsets.tobytes() + config + b"".join(samples)
        name = f"shard.{len(shards):05d}.mds"

        def info(name: str, data: bytes) -> dict:
            (folder / name).write_bytes(data)
            return {"basename": name, "bytes": len(data), "hashes": {"sha1": hashlib.sha1(data).hexdigest()}}

        shard = {"version": 2, "format": "mds", "compression": packed, "hashes": ["sha1"], "samples": len(samples)}
        shard |= {"column_names": names, "column_encodings": [columns[n] for n in names], "size_limit": 1 << 26}
        shard |= {
            "column_sizes": [SIZES.get(columns[n]) for n in names],
            "raw_data": info(name, raw),
            "zip_data": None,
        }
        if packed:
            pack = {"zstd": zstandard.ZstdCompressor().compress, "gz": gzip.compress}[packed.split(":")[0]]
            shard["zip_data"] = info(f"{name}.{packed.split(':')[0]}", pack(raw))
            (folder / name).unlink()
        shards.append(shard)
    (folder / "index.json").write_text(json.dumps({"version": 2, "shards": shards}))
    return str(folder)


COLUMNS = {
    "id": "int",
    "small": "uint8",
    "x": "float32",
    "fixed": "ndarray:int16:2,2",
    "a": "ndarray",
    "text": "str",
    "meta": "json",
    "image": "jpeg",
}


def mds_rows(count: int = 20) -> list[dict]:
    out = []
    for i in range(count):
        row = {"id": i - 3, "small": i, "x": i / 2, "fixed": np.arange(4, dtype=np.int16).reshape(2, 2) + i}
        out.append(
            {
                **row,
                "a": np.arange(i % 4 + 1, dtype=np.float32),
                "text": f"Zeile {i} ü",
                "meta": {"n": [i]},
                "image": jpeg(i, 40, 30),
            }
        )
    return out


@pytest.mark.parametrize("packed", [None, "zstd:3", "gz"])
def test_mds(tmp_path, packed):
    rows = mds_rows()
    columns = COLUMNS | {"a": "ndarray:float32"}
    # Without the type, which is in the column's encoding here: only the shape.
    path = write_mds(
        tmp_path / "d",
        columns | {"a": "bytes"},
        [r | {"a": encode("ndarray", r["a"])[1:]} for r in rows],
        packed=packed,
    )
    index = json.loads((tmp_path / "d" / "index.json").read_text())
    for shard in index["shards"]:
        shard["column_encodings"] = [columns[n] for n in shard["column_names"]]
    (tmp_path / "d" / "index.json").write_text(json.dumps(index))
    for pipeline in (infeed.mds(path), infeed.open(path), infeed.mds(f"{path}/index.json", check=True)):
        batch = next(iter(pipeline.decode(image="rgb").batch(20).to_numpy()))
        assert batch["id"].tolist() == [r["id"] for r in rows] and batch["small"].dtype == np.uint8
        assert batch["x"].dtype == np.float32 and batch["fixed"].shape == (20, 2, 2)
        assert np.array_equal(batch["fixed"], [r["fixed"] for r in rows])
        assert all(np.array_equal(x, r["a"]) for x, r in zip(batch["a"], rows, strict=True))
        assert batch["text"] == [r["text"] for r in rows]
        assert [x.shape for x in batch["image"]] == [(30, 40, 3)] * 20
    check_order(infeed.mds(path).shuffle(seed=1).batch(4), lambda b: (b["id"] + 3).tolist(), 20)


def test_bad_mds(tmp_path):
    path = Path(write_mds(tmp_path / "d", {"id": "int", "o": "pkl"}, [{"id": i, "o": b"x"} for i in range(20)]))
    with pytest.raises(infeed.PlanError, match="column `o` holds pickled objects"):
        infeed.mds(path).explain()
    assert bytes(rows_of(infeed.mds(path, pickle=True))[0]["o"]) == b"x"
    shard = path / "shard.00001.mds"
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.write_bytes(data)
    with pytest.raises(infeed.FormatError, match=r"shard.00001.mds.*sha1 checksum is"):
        infeed.mds(path, pickle=True, check=True).explain()
    shard.write_bytes(data[:-1])
    with pytest.raises(infeed.FormatError, match=r"shard.00001.mds.*its index says"):
        infeed.mds(path, pickle=True).explain()
    shard.unlink()
    with pytest.raises(FileNotFoundError, match=r"shard.00001.mds`; the index names it"):
        infeed.mds(path, pickle=True).explain()
    (path / "index.json").write_text("{}")
    with pytest.raises(ValueError, match="no index of MDS shards"):
        infeed.mds(path).explain()
    with pytest.raises(FileNotFoundError, match=r"has an index\.json"):
        infeed.mds(tmp_path).explain()


STREAMING = Path.home() / ".cache/infeed/bench/streaming/bin/python"

WRITE_MDS = """
import sys, numpy as np
from streaming import MDSWriter
columns = {"id": "int", "text": "str", "a": "ndarray", "b": "ndarray:int16:2,2", "c": "ndarray:float32"}
columns |= {"x": "float64", "u": "uint16", "s": "str_int", "j": "json", "raw": "bytes"}
how = {"compression": sys.argv[2] or None, "hashes": ["sha1", "xxh64"], "size_limit": 2000}
with MDSWriter(out=sys.argv[1], columns=columns, **how) as out:
    for i in range(50):
        arrays = {"a": np.arange(i + 1.0), "b": np.full((2, 2), i, np.int16), "c": np.full(3, i, np.float32)}
        numbers = {"id": i, "x": i / 7, "u": i, "s": i * 10**12}
        out.write({**arrays, **numbers, "text": f"row {i}", "j": {"k": [i]}, "raw": bytes([i])})
"""


@pytest.mark.skipif(not STREAMING.exists(), reason="needs an environment with mosaicml-streaming")
@pytest.mark.parametrize("zip", ["", "zstd", "gz"])
def test_what_streaming_writes(tmp_path, zip):
    env = {**os.environ, "PYTHONPATH": ""}
    subprocess.run([STREAMING, "-c", WRITE_MDS, tmp_path / "d", zip], check=True, capture_output=True, env=env)
    found = rows_of(infeed.mds(tmp_path / "d", check=True))
    assert [r["id"] for r in found] == list(range(50)) and [r["u"] for r in found] == list(range(50))
    assert [r["text"] for r in found] == [f"row {i}" for i in range(50)]
    assert all(
        r["a"] == list(range(i + 1)) and r["b"] == [[i, i], [i, i]] and r["c"] == [i] * 3 for i, r in enumerate(found)
    )
    assert all(
        r["x"] == i / 7 and r["s"] == i * 10**12 and bytes(r["raw"]) == bytes([i]) for i, r in enumerate(found)
    )


def write_lmdb(path: Path, rows: dict[bytes, bytes], name: bytes | None = None, **how) -> str:
    with lmdb.open(str(path), map_size=1 << 28, max_dbs=2, **how) as env:
        db = env.open_db(name) if name else None
        with env.begin(write=True, db=db) as txn:
            for key, value in rows.items():
                txn.put(key, value)
    return str(path)


@pytest.mark.parametrize("subdir", [True, False])
def test_lmdb(tmp_path, subdir):
    rng = np.random.default_rng(3)
    rows = {f"{i:05d}".encode(): rng.bytes(int(rng.choice([0, 10, 700, 5000, 70_000]))) for i in rng.permutation(400)}
    path = write_lmdb(tmp_path / "x.lmdb", rows, subdir=subdir)
    for pipeline in (infeed.lmdb(path), infeed.open(path)):
        found = rows_of(pipeline)
        assert [r["key"] for r in found] == [k.decode() for k in sorted(rows)]
        assert [bytes(r["value"]) for r in found] == [rows[k] for k in sorted(rows)]
    check_order(infeed.lmdb(path).shuffle(seed=3).batch(16), lambda b: [int(k) for k in b["key"]], 400)


def test_lmdb_after_changes(tmp_path):
    """Deleted and replaced entries leave free pages behind."""
    path = write_lmdb(tmp_path / "d", {f"{i:04d}".encode(): bytes(3000) for i in range(200)})
    with lmdb.open(path, map_size=1 << 28) as env:
        for i in range(0, 200, 3):
            with env.begin(write=True) as txn:
                txn.delete(f"{i:04d}".encode())
        with env.begin(write=True) as txn:
            for i in range(1, 200, 3):
                txn.put(f"{i:04d}".encode(), b"new" * i)
        with env.begin() as txn:
            want = list(txn.cursor())
    found = rows_of(infeed.lmdb(path))
    assert [(r["key"].encode(), bytes(r["value"])) for r in found] == want


def test_lmdb_names_keys_and_images(tmp_path):
    rows = {struct.pack(">I", 200 + i): jpeg(i, 40, 30) for i in range(12)}
    path = write_lmdb(tmp_path / "d", rows, name=b"images")
    batch = next(iter(infeed.lmdb(path, name="images").decode(value="rgb").batch(12).to_numpy()))
    assert [bytes(k) for k in batch["key"]] == sorted(rows) and batch["value"][0].shape == (30, 40, 3)
    with pytest.raises(ValueError, match=r"no database `image`.*it has images"):
        infeed.lmdb(path, name="image").explain()
    with pytest.raises(infeed.FormatError, match="`images` is a database of its own"):
        infeed.lmdb(path).explain()
    with pytest.raises(infeed.PlanError, match='not UTF-8; key="bytes"'):
        infeed.lmdb(path, name="images", key="text").explain()


BAD = (infeed.FormatError, infeed.PlanError, infeed.SampleError, infeed.TooManyBadSamples, ValueError)


def test_bad_lmdb(tmp_path):
    path = Path(write_lmdb(tmp_path / "d", {f"{i:04d}".encode(): bytes(5000) for i in range(100)})) / "data.mdb"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(infeed.FormatError, match="the file is cut off"):
        infeed.lmdb(path).explain()
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(infeed.FormatError, match="no LMDB file"):
        infeed.lmdb(path).explain()
    rng = np.random.default_rng(5)
    for _ in range(60):
        bad = bytearray(data)
        for at in rng.integers(0, len(bad), 20):
            bad[at] = rng.integers(0, 256)
        path.write_bytes(bad)
        with contextlib.suppress(*BAD):
            rows_of(infeed.lmdb(path), on_error="skip")


def test_a_fork_reads_on(tmp_path):
    path = write_lmdb(tmp_path / "d", {f"{i:03d}".encode(): bytes([i]) for i in range(50)})
    pipeline = infeed.lmdb(path).batch(10)
    assert len(list(pipeline.to_numpy())) == 5
    child = os.fork()
    if child == 0:
        found = [bytes(v)[0] for batch in pipeline.to_numpy() for v in batch["value"]]
        os._exit(0 if found == list(range(50)) else 1)
    assert os.waitpid(child, 0)[1] == 0
