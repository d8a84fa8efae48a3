"""Values as `scale_factor`, `add_offset`, `_FillValue`, `missing_value` and `valid_range` mean them, against netCDF4."""

from __future__ import annotations

import base64
import struct
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401, its filters must find the HDF5 of h5py, not that of netCDF4
import netCDF4
import numpy as np
import pytest
import zarr

import infeed

ROWS = 12
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "packed": {"scale_factor": 0.01, "add_offset": 273.15, "_FillValue": -32767},
    "moved": {"add_offset": 5.0},
    "missing": {"scale_factor": 2.0, "missing_value": 7},
    "range": {"scale_factor": 2.0, "valid_range": [-50, 50]},
    "least": {"scale_factor": 2.0, "valid_min": -10},
    "most": {"scale_factor": 2.0, "valid_max": 10},
}


def stored(dtype: str, holes: bool = False) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(1)
    data = random.integers(0 if dtype.startswith("u") else -100, 100, (ROWS, 5)).astype(dtype)
    data[3, 2] = 7
    if holes:
        data[1, 0] = data[5, 4] = -32767
    return data


def read(pipeline: infeed.Pipeline, field: str = "v") -> np.ndarray[Any, Any]:
    return next(iter(pipeline.batch(ROWS).to_numpy()))[field]


def write(path: Path, kind: str, data: np.ndarray[Any, Any], attributes: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Writes a variable, and returns its values as netCDF4 reads them, with NaN for what is missing."""
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.createDimension("time", None)
        file.createDimension("x", data.shape[1])
        fill = attributes.get("_FillValue")
        variable = file.createVariable("v", data.dtype, ("time", "x"), fill_value=fill)
        variable.set_auto_maskandscale(False)
        variable.setncatts({name: value for name, value in attributes.items() if name != "_FillValue"})
        variable[:] = data
    with netCDF4.Dataset(path) as file:
        values = file["v"][:]
        return np.ma.filled(values.astype("f8"), np.nan)


@pytest.mark.parametrize("kind", ["NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"])
@pytest.mark.parametrize("dtype", ["i2", "i4", "i1", "f4", "f8"])
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_values_are_those_of_netcdf4(tmp_path, kind, dtype, name):
    attributes = dict(ATTRIBUTES[name])
    if dtype == "i1":
        attributes.pop("_FillValue", None)
    path = tmp_path / "data.nc"
    # netCDF4 takes -32767 for missing also where no attribute says so.
    data = stored(dtype, holes="_FillValue" in attributes)
    expected = write(path, kind, data, attributes)
    found = read(infeed.open(path))
    assert found.dtype == ("f8" if dtype in ("i4", "f8") else "f4")
    np.testing.assert_allclose(found, expected, rtol=1e-6 if found.dtype == "f4" else 1e-15)
    assert np.isnan(found).any() == (name not in ("moved", "packed") or "_FillValue" in attributes)
    raw = infeed.hdf5 if kind == "NETCDF4" else infeed.netcdf
    as_stored = read(raw(path, mask_and_scale=False))
    assert as_stored.dtype == dtype and np.array_equal(as_stored, data)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_floats_that_stand_for_nothing(tmp_path, dtype):
    """1e20 has other digits as a float of 32 bits: it is compared as the elements are stored."""
    data = np.linspace(0, 1, ROWS * 5, dtype=dtype).reshape(ROWS, 5)
    data[2, 3] = 1e20
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["v"] = data
        file["v"].attrs["_FillValue"] = np.float64(1e20)
    found = read(infeed.hdf5(tmp_path / "x.h5"))
    assert found.dtype == dtype and np.argwhere(np.isnan(found)).tolist() == [[2, 3]]
    data[2, 3] = np.nan
    assert np.array_equal(found, data, equal_nan=True)


def test_labels_stay_integers(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["v"] = stored("i4")
        file["v"].attrs["_FillValue"] = np.int32(-1)
        file["v"].attrs["units"] = "class"
    found = read(infeed.hdf5(tmp_path / "x.h5"))
    assert found.dtype == "i4" and np.array_equal(found, stored("i4"))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("chunk", [1, 5])
def test_zarr_as_xarray_writes_it(tmp_path, version, chunk):
    data = stored("i2", holes=True)
    array = zarr.create_array(
        str(tmp_path / "x.zarr"),
        shape=data.shape,
        dtype="i2",
        chunks=(chunk, 5),
        zarr_format=version,
        fill_value=-32767,
    )
    array[:] = data
    array.attrs.update({"scale_factor": 0.5, "add_offset": 10.0})
    # Version 2 has it in the metadata of the array alone, version 3 beside it.
    array.attrs.update({"_ARRAY_DIMENSIONS": ["time", "x"]} if version == 2 else {"_FillValue": -32767})
    expected = np.where(data == -32767, np.nan, data * 0.5 + 10).astype("f4")
    assert np.array_equal(read(infeed.zarr(tmp_path / "x.zarr"), "data"), expected, equal_nan=True)
    assert np.array_equal(read(infeed.zarr(tmp_path / "x.zarr", mask_and_scale=False), "data"), data)


def test_zarr_floats_in_base_64(tmp_path):
    data = np.arange(ROWS * 5, dtype="f4").reshape(ROWS, 5)
    data[4, 4] = -9999
    array = zarr.create_array(str(tmp_path / "x.zarr"), shape=data.shape, dtype="f4", chunks=(2, 5), zarr_format=3)
    array[:] = data
    array.attrs["_FillValue"] = base64.b64encode(struct.pack("<d", -9999)).decode()
    found = read(infeed.zarr(tmp_path / "x.zarr"), "data")
    assert np.argwhere(np.isnan(found)).tolist() == [[4, 4]]


def test_fill_values_of_plain_zarr_are_values(tmp_path):
    """zarr-python writes a fill value of 0 if nobody says anything: zeros are not missing."""
    array = zarr.create_array(str(tmp_path / "x.zarr"), shape=(ROWS, 5), dtype="i2", chunks=(2, 5), zarr_format=2)
    array[:6] = 3
    found = read(infeed.zarr(tmp_path / "x.zarr"), "data")
    assert found.dtype == "i2" and found[:6].min() == 3 and found[6:].max() == 0


def test_shuffled_blocks_and_threads(tmp_path):
    """Chunks of several rows are scaled once, with their block."""
    data = stored("i2")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("v", data=data, chunks=(5, 5), compression="gzip", shuffle=True)
        file["v"].attrs.update({"scale_factor": np.float32(0.5), "add_offset": np.float32(1)})
        file["n"] = np.arange(ROWS)
    with infeed.hdf5(tmp_path / "x.h5").shuffle(seed=3).batch(5).to_numpy(threads=2) as loader:
        seen = {int(n): row for batch in loader for n, row in zip(batch["n"], batch["v"], strict=True)}
    assert len(seen) == ROWS
    for n, row in seen.items():
        assert np.array_equal(row, (data[n] * np.float64(0.5) + 1).astype("f4"))
