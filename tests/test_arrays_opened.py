"""Open files of h5py, netCDF4, zarr, xarray and dask: the engine reads the files behind them."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from test_arrays_numpy import read, same, values

import infeed

h5py = pytest.importorskip("h5py")


@pytest.fixture
def made(tmp_path: Path) -> dict[str, np.ndarray]:
    """Arrays that all tests write."""
    return {"x": values("<f4", (11, 3, 2)), "y": values("<i4", (11,), 1)}


def write_h5(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array
            file[f"train/{name}"] = array[:7]
        file["x"].attrs["scale_factor"] = 2.0  # h5py does not apply it, so nobody does.
        file["z"] = np.arange(11)
        file["lat"] = np.arange(3.0)
    return path


def test_h5py(tmp_path: Path, made: dict[str, np.ndarray]) -> None:
    path = write_h5(tmp_path / "a.h5", made)
    with h5py.File(path) as file:
        for opened in (infeed.arrays, infeed.open, infeed.wrap):
            got = read(opened(file))
            assert sorted(got) == ["x", "y", "z"]
            same(got["x"], made["x"])
        assert infeed.arrays(file["x"]) == infeed.hdf5(path, variables=["x"], mask_and_scale=False)
        same(read(infeed.arrays(file["train/y"]))["train/y"], made["y"][:7])
        same(read(infeed.arrays(file["train"]))["train/x"], made["x"][:7])
        same(read(infeed.arrays(file["train"], variables=["y"]))["train/y"], made["y"][:7])
        named = infeed.arrays(y=file["y"], x=file["x"])
        assert list(read(named)) == ["y", "x"]
        windows = infeed.arrays(file, variables=["x"], window=4, horizon=2)
        same(read(windows.take(1))["x.target"][0], made["x"][4:6])
        assert pickle.loads(pickle.dumps(windows)) == windows
    assert len(named) == 11  # The object may be closed: the file is read anew.


def test_h5py_that_cannot_be_read(tmp_path: Path, made: dict[str, np.ndarray]) -> None:
    path = write_h5(tmp_path / "a.h5", made)
    with h5py.File(path, "r+") as file, pytest.raises(ValueError, match=r"open for writing.*mode='r'"):
        infeed.arrays(file)
    with pytest.raises(ValueError, match="closed"):
        infeed.arrays(file)
    with h5py.File(tmp_path / "m.h5", "w", driver="core", backing_store=False) as file:
        file["x"] = made["x"]
        with pytest.raises(ValueError, match="in memory"):
            infeed.open(file["x"])
    with h5py.File(io.BytesIO(path.read_bytes())) as file, pytest.raises(ValueError, match="give its path or URL"):
        infeed.arrays(file)
    with h5py.File(path) as file:
        with pytest.raises(TypeError, match=r"'windows'.* is no argument of infeed.hdf5"):
            infeed.arrays(file, windows=4)
        with pytest.raises(TypeError, match="this is one array"):
            infeed.arrays(file["x"], variables=["x"])
        with pytest.raises(TypeError, match="lies in a file, and 'y' in memory"):
            infeed.arrays(x=file["x"], y=made["y"])
        with pytest.raises(TypeError, match="is called 'x' in its file"):
            infeed.arrays(image=file["x"])
        with pytest.raises(TypeError, match=r"h5py Dataset: open files .* infeed.arrays"):
            infeed.hdf5(file["x"])
        other = tmp_path / "b.h5"
        write_h5(other, made)
        with h5py.File(other) as second, pytest.raises(ValueError, match="give arrays of one file"):
            infeed.arrays(x=file["x"], y=second["y"])
        # Another file has taken the name of the one that is open.
        other.replace(path)
        with pytest.raises(ValueError, match="the file was replaced"):
            infeed.arrays(file)


@pytest.mark.parametrize("model", ["NETCDF4", "NETCDF3_64BIT_OFFSET"])
def test_netcdf4(tmp_path: Path, made: dict[str, np.ndarray], model: str) -> None:
    netcdf4 = pytest.importorskip("netCDF4")
    path = tmp_path / "a.nc"
    with netcdf4.Dataset(path, "w", format=model) as file:
        file.createDimension("time", 11)
        file.createDimension("a", 3)
        file.createDimension("b", 2)
        file.createVariable("x", "f4", ("time", "a", "b"))[:] = made["x"]
        packed = file.createVariable("p", "i2", ("time",), fill_value=-1)
        packed.scale_factor = np.float32(0.5)
        packed[:] = np.arange(11) / 2
        with pytest.raises(ValueError, match="open for writing"):
            infeed.arrays(file)
    with netcdf4.Dataset(path) as file:
        got = read(infeed.arrays(file))
        assert sorted(got) == ["p", "x"]
        same(got["x"], made["x"])
        same(got["p"], (np.arange(11) / 2).astype("f4"))
        file.set_auto_maskandscale(False)
        same(read(infeed.arrays(file["p"]))["p"], np.arange(11, dtype="i2"))
        file["p"].set_auto_scale(True)
        with pytest.raises(ValueError, match="set_auto_maskandscale"):
            infeed.arrays(file)
    with pytest.raises(ValueError, match="closed"):
        infeed.arrays(file)
    with netcdf4.Dataset(path, memory=path.read_bytes()) as file, pytest.raises(ValueError, match="in memory"):
        infeed.arrays(file)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("version", [2, 3])
def test_zarr(tmp_path: Path, made: dict[str, np.ndarray], version: int) -> None:
    zarr = pytest.importorskip("zarr", "3.0")
    top = zarr.open_group(str(tmp_path / "a.zarr"), mode="w", zarr_format=version)
    for name, array in made.items():
        top.create_array(name, data=array, chunks=(4, *array.shape[1:]))
        top.require_group("train").create_array(name, data=array[:7], chunks=(4, *array.shape[1:]))
    same(read(infeed.arrays(top["train"]))["x"], made["x"][:7])
    same(read(infeed.arrays(top, variables=["train/y"]))["train/y"], made["y"][:7])
    same(read(infeed.arrays(top["train/x"]))["x"], made["x"][:7])
    assert list(read(infeed.open(top["y"]))) == ["y"]
    alone = zarr.open_array(str(tmp_path / "a.zarr" / "x"), mode="r")
    same(read(infeed.arrays(alone))["data"], made["x"])
    # An array in a folder that is no group.
    lone = zarr.create_array(str(tmp_path / "b"), name="x", data=made["x"], zarr_format=version)
    for head in ("zarr.json", ".zgroup", ".zattrs"):
        (tmp_path / "b" / head).unlink(missing_ok=True)
    same(read(infeed.arrays(lone))["data"], made["x"])
    with pytest.raises(ValueError, match="in memory"):
        infeed.arrays(zarr.array(made["x"]))


def test_remote_stores_of_zarr() -> None:
    """What fsspec calls a place, and what infeed calls it. The store is not asked."""
    from infeed.sources.opened.stores import _url

    def fs(protocol: str | tuple[str, ...], **options: str) -> types.SimpleNamespace:
        return types.SimpleNamespace(protocol=protocol, storage_options=options)

    assert _url(fs(("s3", "s3a"), anon="1"), "bucket/a.zarr") == "s3://bucket/a.zarr"
    assert _url(fs(("gs", "gcs")), "bucket/a.zarr") == "gs://bucket/a.zarr"
    assert _url(fs("abfs"), "box/a.zarr") == "az://box/a.zarr"
    assert _url(fs(("http", "https")), "https://host/a.zarr") == "https://host/a.zarr"
    assert _url(fs(("file", "local")), "/data/a.zarr") == "/data/a.zarr"
    with pytest.raises(ValueError, match=r"endpoint_url=.*infeed.zarr\('s3://bucket/a'\)"):
        _url(fs("s3", endpoint_url="http://host"), "bucket/a")
    with pytest.raises(ValueError, match="no store for fsspec's 'memory'"):
        _url(fs("memory"), "/a")


def test_nothing_is_imported() -> None:
    code = "import sys, infeed; print([m for m in ('h5py', 'zarr', 'netCDF4', 'xarray', 'dask') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
