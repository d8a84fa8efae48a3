"""Data sets of xarray and arrays of dask that stand for files: the engine reads the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_arrays_numpy import read, same, values

import infeed

xarray = pytest.importorskip("xarray")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::xarray.SerializationWarning")


def data_set() -> Any:
    """Floats, packed values, and times."""
    made = xarray.Dataset(
        {
            "t": (("time", "x"), values("<f4", (9, 5))),
            "p": (("time", "x"), values("<i2", (9, 5)).astype("f4") / 2),
            "when": (("time",), np.datetime64("2020-01-01", "ns") + np.arange(9) * np.timedelta64(1, "D")),
            "mask": (("x", "y"), np.zeros((5, 2), "i1")),
        },
        coords={"time": np.arange(9)},
    )
    made["p"].encoding = {"dtype": "i2", "scale_factor": np.float32(0.5), "_FillValue": np.int16(-32768)}
    return made


@pytest.fixture(params=["netcdf4", "netcdf3", "scipy", "zarr"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A function that opens the same data, written by xarray in one of several formats."""
    kind = request.param
    if kind == "zarr":
        pytest.importorskip("zarr", "3.0")
        data_set().to_zarr(tmp_path / "a.zarr")
        return lambda **how: xarray.open_dataset(tmp_path / "a.zarr", engine="zarr", **how)
    pytest.importorskip("netCDF4")
    pytest.importorskip("scipy")
    format = "NETCDF4" if kind == "netcdf4" else "NETCDF3_64BIT"
    data_set().to_netcdf(tmp_path / "a.nc", format=format, engine="netcdf4")
    return lambda **how: xarray.open_dataset(
        tmp_path / "a.nc", engine="scipy" if kind == "scipy" else "netcdf4", **how
    )


def test_files_behind_data_sets(opened: Any) -> None:
    with opened() as data:
        got = read(infeed.arrays(data, variables=["p", "t"]))
        same(got["t"], data["t"].values)
        same(got["p"], data["p"].values.astype("f4"))
    with opened() as data:
        same(read(infeed.open(data["t"]))["t"], data["t"].values)
    with opened() as data:
        windows = infeed.arrays(data["t"], window=3)
        same(read(windows)["t"][2], data["t"].values[2:5])


def test_values_as_they_are_stored(opened: Any) -> None:
    with opened(mask_and_scale=False) as data:
        same(read(infeed.arrays(data["p"]))["p"], data["p"].values)
    with opened(decode_times=False) as data:
        pipeline = infeed.arrays(data)
        assert sorted(pipeline.recipe["source"]["args"]["variables"]) == ["p", "t", "when"]
        same(read(pipeline)["when"], data["when"].values)


def test_what_is_not_the_file(opened: Any) -> None:
    with opened() as data:
        with pytest.raises(ValueError, match="decode_times=False"):
            infeed.arrays(data["when"])
        with pytest.raises(ValueError, match="subset"):
            infeed.arrays(data["t"].isel(time=slice(2, 5)))
        with pytest.raises(ValueError, match="is called 't'"):
            infeed.arrays(data["t"].rename("u"))
        with pytest.raises(KeyError, match="no variable 'q'"):
            infeed.arrays(data, variables=["q"])
        data["t"].load()
        with pytest.raises(ValueError, match="made in memory"):
            infeed.arrays(data, variables=["t", "p"])
        same(read(infeed.arrays(x=data["t"]))["x"], data["t"].values)


def test_data_sets_in_memory_are_columns() -> None:
    data = xarray.Dataset({"a": ("n", np.arange(4)), "b": ("n", np.arange(4.0))})
    assert sorted(read(infeed.arrays(data))) == ["a", "b"]


def test_attributes_that_xarray_does_not_apply(tmp_path: Path) -> None:
    pytest.importorskip("netCDF4")
    data = xarray.Dataset({"p": ("n", np.arange(6.0)), "c": ("n", np.arange(6.0))})
    data["p"].attrs["valid_range"] = np.array([1, 4], "i2")
    data["p"].encoding = {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -1}
    data["c"].encoding = {"dtype": "i2", "_FillValue": -1}
    data.to_netcdf(tmp_path / "a.nc")
    with xarray.open_dataset(tmp_path / "a.nc") as opened:
        with pytest.raises(ValueError, match=r"valid_range.*infeed.hdf5\('.*', variables=\['p'\]\)"):
            infeed.arrays(opened["p"])
        with pytest.raises(ValueError, match="makes floats of the integers 'c'"):
            infeed.arrays(opened["c"])


def test_dask(opened: Any) -> None:
    dask_array = pytest.importorskip("dask.array")
    with opened(chunks={"time": 4}) as data:
        same(read(infeed.arrays(data["t"]))["t"], data["t"].values)
        with pytest.raises(ValueError, match=r"more to do than reading one file \(add"):
            infeed.arrays(data["t"] + 1)
        with pytest.raises(ValueError, match="getitem"):
            infeed.arrays(data["t"][2:])
    with pytest.raises(ValueError, match="array of dask"):
        infeed.arrays(dask_array.ones((4, 4)))


def test_dask_from_zarr(tmp_path: Path) -> None:
    dask_array = pytest.importorskip("dask.array")
    zarr = pytest.importorskip("zarr", "3.0")
    array = values("<f4", (9, 5))
    zarr.open_group(str(tmp_path / "a.zarr"), mode="w").create_array("x", data=array, chunks=(2, 5))
    same(read(infeed.arrays(dask_array.from_zarr(str(tmp_path / "a.zarr"), component="x")))["x"], array)
    lone = dask_array.from_array(array, chunks=3)
    with pytest.raises(ValueError, match="array of dask"):
        infeed.arrays(lone)
