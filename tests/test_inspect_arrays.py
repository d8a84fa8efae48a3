"""What `infeed inspect` says of arrays: axes, chunks, filters, and what a row costs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401, its filters must find the HDF5 of h5py, not that of netCDF4
import netCDF4
import numpy as np
import zarr


def inspect(path: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "infeed", "inspect", str(path), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def variables(path: Path) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in json.loads(inspect(path, "--json"))["variables"]}


def test_netcdf4_has_names_chunks_and_filters(tmp_path):
    path = tmp_path / "x.nc"
    with netCDF4.Dataset(path, "w") as file:
        for name, side in (("time", 30), ("lat", 20), ("lon", 40)):
            file.createDimension(name, side)
            file.createVariable(name, "f8", (name,))[:] = np.arange(side)
        options = {"zlib": True, "shuffle": True, "chunksizes": (1, 20, 40)}
        file.createVariable("t2m", "f4", ("time", "lat", "lon"), **options)[:] = np.zeros((30, 20, 40))
    found = variables(path)["t2m"]
    assert (found["dtype"], found["shape"], found["dimensions"]) == ("f32", [30, 20, 40], ["time", "lat", "lon"])
    assert (found["chunk"], found["filters"]) == ([1, 20, 40], ["shuffle", "deflate"])
    assert (found["bytes"], found["row_bytes"], found["decoded_bytes_per_row"]) == (96_000, 3200, 3200)
    assert 0 < found["stored_bytes"] < 96_000 and found["stored_bytes"] == 30 * found["read_bytes_per_row"]
    assert found["advice"] is None
    text = inspect(path)
    assert "time=30, lat=20, lon=40" in text and "1 x 20 x 40" in text and "shuffle, deflate" in text


def test_classic_netcdf_and_npy_have_no_chunks(tmp_path):
    with netCDF4.Dataset(tmp_path / "x.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("time", None)
        file.createDimension("x", 5)
        file.createVariable("v", "i2", ("time", "x"))[:] = np.zeros((7, 5))
    found = variables(tmp_path / "x.nc")["v"]
    assert (found["dimensions"], found["chunk"], found["filters"]) == (["time", "x"], None, [])
    assert found["row_bytes"] == found["read_bytes_per_row"] == found["decoded_bytes_per_row"] == 10
    np.save(tmp_path / "x.npy", np.zeros((6, 4, 4), "f4"))
    found = variables(tmp_path / "x.npy")["data"]
    assert (found["shape"], found["dimensions"], found["stored_bytes"]) == ([6, 4, 4], [], 6 * 64)


def test_zarr_in_shards(tmp_path):
    array = zarr.create_array(
        str(tmp_path / "x.zarr"),
        shape=(8, 64),
        chunks=(1, 64),
        shards=(4, 64),
        dtype="f4",
        dimension_names=["t", "x"],
    )
    array[:] = np.random.default_rng(0).random((8, 64), "f4")
    found = variables(tmp_path / "x.zarr")["data"]
    assert (found["dimensions"], found["chunk"], found["decoded_bytes_per_row"]) == (["t", "x"], [1, 64], 256)
    assert "zstd" in found["filters"] and found["advice"] is None


def test_bad_chunks_are_named(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        # A row is in 400 chunks.
        file.create_dataset("tiny", data=np.zeros((8, 20, 20), "f4"), chunks=(1, 1, 1), compression="gzip")
        # A row needs all of the others, and that is too much to be kept.
        file.create_dataset("deep", shape=(8, 64, 1 << 20), dtype="f4", chunks=(4, 64, 1 << 20), compression="gzip")
    found = variables(path)
    assert "is in 400 chunks; chunks of [1, 20, 20] would be better" in found["tiny"]["advice"]
    assert "needs 1.0 GiB decoded, and so much is not kept" in found["deep"]["advice"]
    assert "tiny: a row of" in inspect(path)


def test_other_formats_have_none(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    assert variables(tmp_path / "x.jsonl") == {} and "Variables" not in inspect(tmp_path / "x.jsonl")
