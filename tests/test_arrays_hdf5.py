"""HDF5 and netCDF-4 files as rows, compared with h5py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_arrays_numpy import DTYPES, read, same, values

import infeed

h5py = pytest.importorskip("h5py")
plugin = pytest.importorskip("hdf5plugin")

FILTERS: dict[str, dict[str, Any]] = {
    "none": {},
    "gzip": {"compression": "gzip"},
    "gzip-shuffle-fletcher": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    "lzf": {"compression": "lzf"},
    "lz4": dict(plugin.LZ4()),
    "zstd": dict(plugin.Zstd()),
    "blosc": dict(plugin.Blosc(cname="lz4", shuffle=1)),
    "blosc2": dict(plugin.Blosc2(cname="zstd", filters=2)),
    "bitshuffle": dict(plugin.Bitshuffle(cname="lz4")),
    "scaleoffset": {"scaleoffset": 0},
}


@pytest.mark.parametrize("libver", ["earliest", "v110", "latest"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_those_of_h5py(tmp_path: Path, dtype: str, libver: str) -> None:
    shapes = [((23,), (4,)), ((23, 5), (3, 2)), ((23, 3, 4), (1, 3, 4)), ((7, 6, 5), (7, 2, 3))]
    with h5py.File(tmp_path / "a.h5", "w", libver=libver) as file:
        for k, (shape, chunks) in enumerate(shapes):
            array = values(dtype, shape, k)
            file.create_dataset(f"plain{k}", data=array)
            file.create_dataset(f"packed{k}", data=array, chunks=chunks, compression="gzip")
    for k, (shape, _) in enumerate(shapes):
        array = values(dtype, shape, k)
        for name in (f"plain{k}", f"packed{k}"):
            for axis in range(len(shape)):
                got = read(infeed.hdf5(tmp_path / "a.h5", variables=[name], axis=axis))[name]
                same(got, np.moveaxis(array, axis, 0))


@pytest.mark.parametrize("name", FILTERS)
def test_filters(tmp_path: Path, name: str) -> None:
    array = values("<i4", (101, 6, 8))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=array, chunks=(8, 3, 8), **FILTERS[name])
    same(read(infeed.hdf5(tmp_path / "a.h5"), 16)["x"], array)
    shuffled = read(infeed.hdf5(tmp_path / "a.h5").shuffle(seed=2), 16)["x"]
    order = infeed.hdf5(tmp_path / "a.h5").shuffle(seed=2).order()
    same(shuffled, array[np.asarray(order)])


def test_which_data_sets_are_taken(tmp_path: Path) -> None:
    """Without names those of the length that most have; what is left out is told."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["x"] = values("<f4", (10, 3))
        file["train/y"] = np.arange(10)
        file["lat"] = np.arange(7)
        file["version"] = 3
    got = read(infeed.hdf5(path))
    assert list(got) == ["train/y", "x"]
    assert "left out: version, lat" in str(infeed.hdf5(path).explain())
    assert read(infeed.hdf5(path, variables=["/lat"]))["lat"].tolist() == list(range(7))
    with h5py.File(path, "a") as file:
        file["lon"] = np.arange(7)
    with pytest.raises(ValueError, match=r"lat, lon of 7; train/y, x of 10; say which to read with variables="):
        infeed.hdf5(path).rows()
    with pytest.raises(ValueError, match="`x` has 10 rows and `lat` has 7"):
        infeed.hdf5(path, variables=["x", "lat"]).rows()
    with pytest.raises(ValueError, match=r"has no `train/z`; did you mean `train/y`\?"):
        infeed.hdf5(path, variables=["x", "train/z"]).rows()


def test_files_end_to_end_and_as_rows(tmp_path: Path) -> None:
    arrays = [values("<f4", (k + 2, 4), k) for k in range(4)]
    for k, array in enumerate(arrays):
        with h5py.File(tmp_path / f"{k}.h5", "w") as file:
            file.create_dataset("x", data=array, chunks=(2, 4) if k % 2 else None)
            file["name"] = f"file {k}"
    same(read(infeed.hdf5(tmp_path / "*.h5", variables=["x"]))["x"], np.concatenate(arrays))
    whole = infeed.hdf5(tmp_path, rows="file")
    batches = list(whole.batch(3).to_numpy())
    for found, wanted in zip([row for batch in batches for row in batch["x"]], arrays, strict=True):
        same(found, wanted)
    assert [text for batch in batches for text in batch["name"]] == [f"file {k}" for k in range(4)]


def test_groups_as_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        for k in range(12):
            group = file.create_group(f"event{k:02d}")
            group["x"] = values("<f4", (3, 2), k)
            if k != 5:
                group["label"] = k
        file["note"] = "beside them"
    got = read(infeed.hdf5(path, rows="group", variables=["label", "x"]))
    assert got["label"].tolist() == [k for k in range(12) if k != 5]
    same(got["x"], np.stack([values("<f4", (3, 2), k) for k in range(12) if k != 5]))
    assert infeed.hdf5(path, rows="group", variables=["x"]).rows() == 12
    assert infeed.hdf5(path, rows="group").rows() == 11
    with pytest.raises(ValueError, match="no group has the data sets z; there are: event00/label"):
        infeed.hdf5(path, rows="group", variables=["z"]).rows()


def test_compounds_texts_enums_and_empty_chunks(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    inner = np.dtype([("a", ">i2"), ("b", "<f4", (2,))])
    dtype = np.dtype([("id", "<i8"), ("in", inner), ("name", "S5")])
    table = np.zeros(9, dtype)
    table["id"], table["in"]["a"], table["name"] = np.arange(9), -np.arange(9), b"abc"
    table["in"]["b"] = np.arange(18).reshape(9, 2)
    colour = h5py.enum_dtype({"RED": 0, "GREEN": 7}, basetype="i2")
    with h5py.File(path, "w") as file:
        file["table"] = table
        file.create_dataset("packed", data=table, chunks=(4,), compression="gzip")
        file["ok"] = np.arange(9) % 2 == 0
        file.create_dataset("colour", data=np.full(9, 7, "i2"), dtype=colour)
        file["words"] = [f"wörd {k}" for k in range(9)]
        file["fixed"] = np.array([f"f{k}" for k in range(9)], "S4")
        file.create_dataset("empty", (9, 3), "<f4", chunks=(2, 3), fillvalue=1.5)
        file["empty"][4] = 2
    got = read(infeed.hdf5(path))
    for name in ("table", "packed"):
        same(got[f"{name}.id"], table["id"])
        same(got[f"{name}.in.a"], table["in"]["a"])
        same(got[f"{name}.in.b"], table["in"]["b"])
        assert got[f"{name}.name"] == ["abc"] * 9
    same(got["ok"], np.arange(9) % 2 == 0)
    same(got["colour"], np.full(9, 7, "i2"))
    assert got["words"] == [f"wörd {k}" for k in range(9)]
    assert got["fixed"] == [f"f{k}" for k in range(9)]
    empty = np.full((9, 3), 1.5, "f4")
    empty[4] = 2
    same(got["empty"], empty)
    some = read(infeed.hdf5(path, variables=["packed.in", "table.id"]))
    assert list(some) == ["packed.in.a", "packed.in.b", "table.id"]


def test_chunks_are_decoded_once(tmp_path: Path) -> None:
    """Shuffled rows of chunks that hold several of them: blocks are mixed, and each row comes once."""
    array = np.arange(4000 * 16, dtype="<i4").reshape(4000, 16)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=array, chunks=(100, 16), compression="gzip")
        file.create_dataset("y", data=np.arange(4000), chunks=(333,))
    pipeline = infeed.hdf5(tmp_path / "a.h5").shuffle(seed=1)
    for threads in (1, 4):
        batches = list(pipeline.batch(64).to_numpy(threads=threads))
        x = np.concatenate([b["x"] for b in batches])
        y = np.concatenate([b["y"] for b in batches])
        same(x, array[y])
        assert sorted(y.tolist()) == list(range(4000)) != y.tolist()


def test_netcdf_files_open_the_same_way(tmp_path: Path) -> None:
    """As netCDF4-python lays them out: dimension scales are data sets of their own."""
    path = tmp_path / "a.nc"
    with h5py.File(path, "w", track_order=True) as file:
        file["time"] = np.arange(12, dtype="<f8")
        file["lat"] = np.arange(3, dtype="<f4")
        file["t2m"] = values(">i2", (12, 3))
        for name in ("time", "lat"):
            file[name].make_scale(name)
        file["t2m"].dims[0].attach_scale(file["time"])
        file["t2m"].attrs["scale_factor"] = 0.1
    got = read(infeed.open(path))
    assert sorted(got) == ["t2m", "time"]
    np.testing.assert_allclose(got["t2m"], values(">i2", (12, 3)) * 0.1, rtol=1e-6)
    same(read(infeed.hdf5(path, mask_and_scale=False))["t2m"], values(">i2", (12, 3)))


def test_a_soft_link_and_a_user_block(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["x"] = np.arange(5)
        file["link"] = h5py.SoftLink("/x")
    assert read(infeed.hdf5(path, variables=["link"]))["link"].tolist() == list(range(5))
    assert infeed.open(path).rows() == 5


def test_from_memory(tmp_path: Path) -> None:
    array = values("<f4", (20, 3))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=array, chunks=(4, 3), compression="lzf")
    infeed.stores.put("mem:arrays/a.h5", (tmp_path / "a.h5").read_bytes())
    try:
        same(read(infeed.hdf5("mem:arrays/a.h5"))["x"], array)
    finally:
        infeed.stores.remove("mem:arrays/a.h5")
