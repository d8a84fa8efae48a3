"""Zarr stores as rows, compared with zarr-python."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_arrays_numpy import read, same, values

import infeed
from infeed import stores

zarr = pytest.importorskip("zarr")
numcodecs = pytest.importorskip("numcodecs")

pytestmark = [
    # zarr-python about data types and codecs without a specification, and about consolidated metadata of version 3.
    pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning"),
    pytest.mark.filterwarnings("ignore:.*does not have a Zarr V3 specification:FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*does not have a Zarr V3 specification:UserWarning"),
    pytest.mark.filterwarnings("ignore:Consolidated metadata:UserWarning"),
]

DTYPES = ["|b1", "|i1", "|u1", "<i2", ">i2", "<u4", ">i4", "<i8", ">u8", "<f2", ">f4", "<f4", "<f8", ">f8"]

SECOND: dict[str, Any] = {
    "none": None,
    "blosc": numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE),
    "blosc-bits": numcodecs.Blosc("zstd", 3, numcodecs.Blosc.BITSHUFFLE),
    "zstd": numcodecs.Zstd(3),
    "gzip": numcodecs.GZip(4),
    "zlib": numcodecs.Zlib(4),
    "lz4": numcodecs.LZ4(),
    "bz2": numcodecs.BZ2(1),
}

THIRD: dict[str, Any] = {
    "none": None,
    "blosc": zarr.codecs.BloscCodec(cname="zstd", shuffle="bitshuffle"),
    "zstd": zarr.codecs.ZstdCodec(level=3),
    "gzip": zarr.codecs.GzipCodec(level=4),
    "crc32c": zarr.codecs.Crc32cCodec(),
}


def group(path: Path, version: int = 3) -> Any:
    return zarr.open_group(str(path), mode="w", zarr_format=version)


def put(parent: Any, name: str, array: np.ndarray, chunks: tuple[int, ...], **options: Any) -> Any:
    made = parent.create_array(name, shape=array.shape, dtype=array.dtype, chunks=chunks, **options)
    made[...] = array
    return made


@pytest.mark.parametrize("version", [2, 3])
def test_one_row_a_store(tmp_path: Path, version: int) -> None:
    parts = [values("<f4", (k + 3, 5), k) for k in range(3)]
    for k, part in enumerate(parts):
        store = group(tmp_path / f"{k}.zarr", version)
        put(store, "x", part, (2, 3))
        put(store, "in/y", np.arange(4) + k, (3,))
    whole = read(infeed.zarr(tmp_path, rows="file"))
    assert sorted(whole) == ["in/y", "x"]
    for k, part in enumerate(parts):
        same(np.asarray(whole["x"][k]), part)
    same(whole["in/y"], np.arange(4) + np.arange(3)[:, None])
    (order,) = [
        batch["in/y"][:, 0] for batch in infeed.zarr(tmp_path, rows="file").shuffle(seed=2).batch(3).to_numpy()
    ]
    assert sorted(order) == [0, 1, 2]
    patches = read(infeed.zarr(tmp_path / "2.zarr", rows="file", variables=["x"], patch=[2, 5]))
    same(patches["x"], np.stack([parts[2][at : at + 2] for at in (0, 2)]))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_those_of_zarr_python(tmp_path: Path, dtype: str, version: int) -> None:
    shapes = [((23,), (4,)), ((23, 5), (3, 2)), ((23, 3, 4), (1, 3, 4)), ((7, 6, 5), (7, 2, 3))]
    top = group(tmp_path / "a.zarr", version)
    for k, (shape, chunks) in enumerate(shapes):
        array = values(dtype, shape, k)
        put(top, f"plain{k}", array, chunks, compressors=None)
        put(top, f"packed{k}", array, chunks)
    for k, (shape, _) in enumerate(shapes):
        array = values(dtype, shape, k)
        for name in (f"plain{k}", f"packed{k}"):
            for axis in range(-1, len(shape)):
                got = read(infeed.zarr(tmp_path / "a.zarr", variables=[name], axis=axis))[name]
                same(got, np.moveaxis(array, axis, 0))


@pytest.mark.parametrize("version, name", [*((2, name) for name in SECOND), *((3, name) for name in THIRD)])
def test_codecs_and_order(tmp_path: Path, version: int, name: str) -> None:
    array = values("<i4", (101, 6, 8))
    codec = (SECOND if version == 2 else THIRD)[name]
    put(group(tmp_path / "a", version), "x", array, (8, 3, 8), compressors=codec)
    same(read(infeed.zarr(tmp_path / "a"), 16)["x"], array)
    shuffled = read(infeed.zarr(tmp_path / "a").shuffle(seed=2), 16)["x"]
    same(shuffled, array[np.asarray(infeed.zarr(tmp_path / "a").shuffle(seed=2).order())])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("filters", [[numcodecs.Delta("<i4")], [numcodecs.Shuffle(4)]])
def test_filters_of_version_2(tmp_path: Path, order: str, filters: list[Any]) -> None:
    array = values("<i4", (19, 4, 6))
    put(group(tmp_path / "a", 2), "x", array, (4, 4, 3), filters=filters, order=order)
    same(read(infeed.zarr(tmp_path / "a"))["x"], array)


@pytest.mark.parametrize("index", ["start", "end"])
def test_shards(tmp_path: Path, index: str) -> None:
    """Shards with their index at either end, with chunks and whole shards that were never written."""
    array = np.full((40, 6), 7, ">f4")
    sharding = {"shape": (8, 6), "index_location": index}
    top = group(tmp_path / "a")
    made = top.create_array("x", shape=array.shape, dtype=">f4", chunks=(2, 3), shards=sharding, fill_value=7)
    made[3:9] = array[3:9] = values("<f4", (6, 6))
    made[30:32, :3] = array[30:32, :3] = values("<f4", (2, 3), 1)
    same(read(infeed.zarr(tmp_path / "a"), 7)["x"], array)
    order = infeed.zarr(tmp_path / "a").shuffle(seed=1).order()
    same(read(infeed.zarr(tmp_path / "a").shuffle(seed=1))["x"], array[np.asarray(order)])


@pytest.mark.parametrize("version", [2, 3])
def test_chunks_that_were_never_written(tmp_path: Path, version: int) -> None:
    top = group(tmp_path / "a", version)
    made = top.create_array("x", shape=(20, 4), dtype="<f4", chunks=(3, 2), fill_value=np.float32("nan"))
    made[6:9, :2] = 1
    top.create_array("nothing", shape=(20,), dtype=">i2", chunks=(6,), fill_value=-3)
    got = read(infeed.zarr(tmp_path / "a"))
    same(got["x"], made[...])
    same(got["nothing"], np.full(20, -3, "i2"))


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("version", [2, 3])
def test_groups_and_what_is_taken(tmp_path: Path, version: int, consolidated: bool) -> None:
    """Without names those of the length that most have; what is left out is told."""
    path = tmp_path / "a.zarr"
    top = group(path, version)
    x, y = values("<f4", (10, 3)), np.arange(10)
    put(top, "x", x, (4, 3))
    put(top.create_group("train/deep"), "y", y, (3,))
    put(top, "lat", np.arange(7), (7,))
    put(top, "version", np.array(3), ())
    if consolidated:
        zarr.consolidate_metadata(str(path))
    got = read(infeed.zarr(path))
    assert list(got) == ["train/deep/y", "x"]
    same(got["x"], x)
    same(got["train/deep/y"], y)
    assert "left out: version, lat" in str(infeed.zarr(path).explain())
    assert read(infeed.zarr(path, variables=["/lat"]))["lat"].tolist() == list(range(7))
    same(read(infeed.open(path / "train"))["deep/y"], y)
    same(read(infeed.zarr(path / "x"))["data"], x)
    with pytest.raises(ValueError, match="`x` has 10 rows and `lat` has 7"):
        infeed.zarr(path, variables=["x", "lat"]).rows()
    with pytest.raises(ValueError, match=r"has no `train/deep/z`; did you mean `train/deep/y`\?"):
        infeed.zarr(path, variables=["x", "train/deep/z"]).rows()
    put(top, "lon", np.arange(7), (7,))
    if consolidated:
        zarr.consolidate_metadata(str(path))
    with pytest.raises(ValueError, match=r"lat, lon of 7; train/deep/y, x of 10; say which to read"):
        infeed.zarr(path).rows()


def test_structures_texts_and_times(tmp_path: Path) -> None:
    dtype = np.dtype([("id", "<i8"), ("at", [("x", ">f4"), ("y", "<i2")])])
    table = np.zeros(9, dtype)
    table["id"], table["at"]["x"], table["at"]["y"] = np.arange(9), np.arange(9) / 2, -3
    top = group(tmp_path / "a", 2)
    put(top, "table", table, (4,))
    put(top, "name", np.array([f"n{k}é" for k in range(9)], "<U4"), (2,))
    put(top, "code", np.array([b"ab", b"c"] * 4 + [b""], "S3"), (5,))
    put(top, "z", np.arange(9) + 1j, (4,))
    put(top, "time", np.arange(9).astype("M8[s]"), (9,))
    batch = next(iter(infeed.zarr(tmp_path / "a").batch(9).to_numpy()))
    assert batch["table.id"].tolist() == list(range(9))
    same(batch["table.at.x"], table["at"]["x"].astype("<f4"))
    same(batch["table.at.y"], table["at"]["y"])
    assert list(batch["name"]) == [f"n{k}é" for k in range(9)]
    assert list(batch["code"]) == ["ab", "c"] * 4 + [""]
    assert (batch["z.r"].tolist(), batch["z.i"].tolist()) == (list(range(9)), [1.0] * 9)
    assert batch["time"].tolist() == list(range(9))
    alone = read(infeed.zarr(tmp_path / "a", variables=["table.at.x"]))
    assert list(alone) == ["table.at.x"]
    with pytest.raises(ValueError, match="has no `w`"):
        infeed.zarr(tmp_path / "a", variables=["table.w"]).rows()


def test_stores_end_to_end(tmp_path: Path) -> None:
    arrays = [values("<f4", (k + 2, 4), k) for k in range(4)]
    for k, array in enumerate(arrays):
        put(group(tmp_path / f"{k}.zarr", 2 + k % 2), "x", array, (2, 4))
    whole = np.concatenate(arrays)
    same(read(infeed.zarr(tmp_path))["x"], whole)
    same(read(infeed.open(tmp_path))["x"], whole)
    same(read(infeed.zarr([tmp_path / f"{k}.zarr" for k in (3, 1)]))["x"], np.concatenate([arrays[3], arrays[1]]))
    order = np.asarray(infeed.zarr(tmp_path).shuffle(seed=5).order())
    same(read(infeed.zarr(tmp_path).shuffle(seed=5))["x"], whole[order])
    put(group(tmp_path / "4.zarr"), "x", values("<f4", (3, 5)), (2, 4))
    with pytest.raises(
        ValueError, match=r"4.zarr`: `x` is of shape \[5\] a row, and in .*0.zarr` it is of shape \[4\]"
    ):
        infeed.zarr(tmp_path).rows()
    put(group(tmp_path / "4.zarr"), "x", values("<i4", (3, 4)), (2, 4))
    with pytest.raises(ValueError, match="`x` is i32, and in"):
        infeed.zarr(tmp_path).rows()
    put(group(tmp_path / "4.zarr"), "y", values("<f4", (3, 4)), (2, 4))
    with pytest.raises(ValueError, match=r"4.zarr` has no `x`"):
        infeed.zarr(tmp_path).rows()


@pytest.mark.parametrize("version", [2, 3])
def test_in_memory(tmp_path: Path, version: int) -> None:
    x = values(">i4", (17, 3, 2))
    top = group(tmp_path / "a.zarr", version)
    put(top, "x", x, (3, 2, 2))
    if version == 3:
        put(top, "s", x, (1, 3, 1), shards=(4, 3, 2))
    for file in (tmp_path / "a.zarr").rglob("*"):
        if file.is_file():
            stores.put(f"mem:zarr-{version}/{file.relative_to(tmp_path).as_posix()}", file.read_bytes())
    got = read(infeed.open(f"mem:zarr-{version}/a.zarr").shuffle(seed=3))
    order = np.asarray(infeed.zarr(f"mem:zarr-{version}").shuffle(seed=3).order())
    for found in got.values():
        same(found, x[order])


def chunk_of(folder: Path) -> Path:
    return sorted(file for file in folder.rglob("*") if file.is_file() and file.name[0].isdigit())[0]


@pytest.mark.parametrize("version", [2, 3])
def test_damaged_chunks_are_named(tmp_path: Path, version: int) -> None:
    put(group(tmp_path / "a.zarr", version), "x", values("<f4", (10, 300)), (4, 300))
    chunk = chunk_of(tmp_path / "a.zarr" / "x")
    chunk.write_bytes(chunk.read_bytes()[:40])
    key = chunk.relative_to(tmp_path / "a.zarr").as_posix()
    with pytest.raises(Exception, match=f"(?s)a.zarr.*{key}"):
        read(infeed.zarr(tmp_path / "a.zarr"))
    chunk.write_bytes(b"")
    with pytest.raises(Exception, match=f"(?s)a.zarr.*{key}"):
        read(infeed.zarr(tmp_path / "a.zarr"))


def test_damaged_shards_are_named(tmp_path: Path) -> None:
    put(group(tmp_path / "a.zarr"), "x", values("<f4", (10, 30)), (2, 30), shards=(10, 30))
    shard = tmp_path / "a.zarr" / "x" / "c" / "0" / "0"
    whole = shard.read_bytes()
    for bad in (b"", whole[:-1], whole[:-20] + b"\xff" * 20, whole[100:]):
        shard.write_bytes(bad)
        with pytest.raises(Exception, match=r"(?s)a.zarr.*x/c/0/0"):
            read(infeed.zarr(tmp_path / "a.zarr"))


@pytest.mark.parametrize("version", [2, 3])
def test_what_is_refused(tmp_path: Path, version: int) -> None:
    path = tmp_path / "a.zarr"
    put(group(path, version), "x", values("<f4", (10, 3)), (4, 3))
    file = path / "x" / (".zarray" if version == 2 else "zarr.json")
    meta = json.loads(file.read_text())

    def changed(match: str, **new: Any) -> None:
        file.write_text(json.dumps(meta | new))
        with pytest.raises(Exception, match=f"(?s)a.zarr.*{match}"):
            infeed.zarr(path).rows()

    if version == 2:
        changed("magic", compressor={"id": "magic"})
        changed("dtype|object", dtype="|O")
        changed("chunks", chunks=[0, 3])
        changed("shape", shape=[-1, 3])
        changed("`shape`|bytes", shape=[2**63, 2**63])
    else:
        changed("magic", codecs=[{"name": "magic", "configuration": {}}])
        changed("variable_length_utf8|string", data_type="string")
        changed("rectilinear", chunk_grid={"name": "rectilinear", "configuration": {}})
        changed("shape", shape=[2**63, 2**63])
    file.write_text("{")
    with pytest.raises(Exception, match=r"a.zarr"):
        infeed.zarr(path).rows()
    shutil.rmtree(path / "x")
    with pytest.raises(ValueError, match="there is no array in it"):
        infeed.zarr(path).rows()


def test_paths_that_are_no_stores(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x.bin").write_bytes(b"x")
    with pytest.raises(FileNotFoundError, match="there is no Zarr array or group in it"):
        infeed.zarr(tmp_path / "d").rows()
    with pytest.raises(ValueError, match="a Zarr store is a folder"):
        infeed.zarr(tmp_path / "d" / "x.bin").rows()
    with pytest.raises(FileNotFoundError):
        infeed.zarr(tmp_path / "none").rows()
    group(tmp_path / "e")
    with pytest.raises(ValueError, match="there is no array in it"):
        infeed.zarr(tmp_path / "e").rows()
    put(group(tmp_path / "f"), "x", np.zeros((0, 3)), (1, 3))
    with pytest.raises(ValueError, match="there are no rows in"):
        infeed.zarr(tmp_path / "f").rows()


def zipped(path: Path, version: int, **options: Any) -> dict[str, np.ndarray]:
    """A store in an archive, and what is in it. One chunk is written twice, as zarr does when values change."""
    arrays = {"x": values("<f4", (20, 6, 5)), "train/y": values(">i4", (20,)), "z": values("<i2", (20, 40))}
    with zarr.storage.ZipStore(path, mode="w", **options) as store:
        root = zarr.create_group(store, zarr_format=version)
        put(root, "x", arrays["x"], (3, 6, 5), **({"compressors": THIRD["zstd"]} if version == 3 else {}))
        put(root, "train/y", arrays["train/y"], (7,))
        if version == 3:
            root.create_array("z", data=arrays["z"], chunks=(2, 10), shards=(10, 20))
        else:
            put(root, "z", arrays["z"], (5, 40))
        with pytest.warns(UserWarning, match="Duplicate name"):
            root["train/y"][0] = arrays["train/y"][0] = 17
    return arrays


@pytest.mark.parametrize("version", [2, 3])
def test_stores_in_archives(tmp_path: Path, version: int) -> None:
    path = tmp_path / "data.zarr.zip"
    arrays = zipped(path, version)
    pipeline = infeed.open(path)
    stores.put("mem:archive/data.zip", path.read_bytes())
    for got in (read(pipeline), read(infeed.open("mem:archive/data.zip"))):
        assert got.keys() >= arrays.keys()
        for name, array in arrays.items():
            same(got[name], array)
    windows = read(infeed.zarr(path, variables=["x"], window=3))["x"]
    same(windows, np.stack([arrays["x"][i : i + 3] for i in range(18)]))


@pytest.mark.parametrize("version", [2, 3])
def test_archives_that_other_programs_made(tmp_path: Path, version: int) -> None:
    """Deflated members, a folder around the store, and headers of members that are longer than the directory says."""
    folder = tmp_path / "data.zarr"
    array = values("<f4", (12, 4, 4))
    put(group(folder, version), "x", array, (5, 4, 4))
    for name in ("a.zip", "b.zip"):
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.rglob("*")):
                if file.is_file():
                    with archive.open(str(file.relative_to(tmp_path)), "w", force_zip64=True) as member:
                        member.write(file.read_bytes())
    same(read(infeed.open(tmp_path / "a.zip"))["x"], array)
    # A folder of archives is laid end to end, as one of folders is.
    shutil.rmtree(folder)
    same(read(infeed.zarr(tmp_path))["x"], np.concatenate([array, array]))


def test_damaged_archives_are_named(tmp_path: Path) -> None:
    path = tmp_path / "data.zip"
    array = values("<i8", (8, 64))
    with zarr.storage.ZipStore(path, mode="w") as store:
        put(zarr.create_group(store, zarr_format=2), "x", array, (2, 64), compressors=None)
    whole = path.read_bytes()
    at = whole.index(array[2:4].tobytes())
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(infeed.SampleError, match=r"member `x/1\.0`: its checksum \(CRC-32\) is wrong"):
        read(infeed.zarr(path), 2)
    same(read(infeed.zarr(path), 2, on_error="skip")["x"], array[[0, 1, 4, 5, 6, 7]])
    path.write_bytes(whole[: len(whole) - 30])
    with pytest.raises(infeed.FormatError, match="no end of a ZIP archive"):
        read(infeed.zarr(path))
    path.write_bytes(whole.replace(b"PK\x03\x04", b"PK\x03\x05"))
    with pytest.raises(infeed.FormatError, match="not where the directory says"):
        read(infeed.zarr(path))
    (tmp_path / "other.zip").write_bytes(b"no archive")
    with pytest.raises(infeed.FormatError, match="no end of a ZIP archive"):
        read(infeed.zarr(tmp_path / "other.zip"))


def test_shards_that_were_deflated_once_more_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.zip"
    with zarr.storage.ZipStore(path, mode="w", compression=zipfile.ZIP_DEFLATED) as store:
        zarr.create_group(store).create_array("z", data=values("<i2", (20, 40)), chunks=(2, 10), shards=(10, 20))
    with pytest.raises(infeed.SampleError, match="deflated once more can only be read as a whole"):
        read(infeed.zarr(path))
