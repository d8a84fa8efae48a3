"""Classic netCDF files as rows, compared with SciPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_arrays_numpy import read, same, values

import infeed

scipy_io = pytest.importorskip("scipy.io")


def write(path: Path, arrays: dict[str, np.ndarray], version: int = 1, *, records: bool = True) -> None:
    """Variables over one dimension that is first, which can grow or not."""
    rows = max(len(array) for array in arrays.values())
    with scipy_io.netcdf_file(str(path), "w", version=version) as file:
        file.createDimension("time", None if records else rows)
        for name, array in arrays.items():
            sides = [f"{name}_{k}" for k in range(1, array.ndim)]
            for side, length in zip(sides, array.shape[1:], strict=True):
                file.createDimension(side, length)
            first = "time" if len(array) == rows else f"{name}_0"
            if first != "time":
                file.createDimension(first, len(array))
            file.createVariable(name, array.dtype, (first, *sides))[:] = array


@pytest.mark.parametrize("records", [False, True])
@pytest.mark.parametrize("version", [1, 2])
def test_rows_are_those_of_scipy(tmp_path: Path, version: int, records: bool) -> None:
    kinds = ["i1", ">i2", ">i4", ">f4", ">f8"]
    arrays = {f"v{k}": values(kind, (17, 3, 5)[: 1 + k % 3], k) for k, kind in enumerate(kinds)}
    write(tmp_path / "a.nc", arrays, version, records=records)
    for pipeline in (infeed.netcdf(tmp_path / "a.nc"), infeed.open(tmp_path / "a.nc"), infeed.open(tmp_path)):
        got = read(pipeline)
        assert sorted(got) == sorted(arrays)
        for name, array in arrays.items():
            same(got[name], array)
    order = np.asarray(infeed.netcdf(tmp_path / "a.nc").shuffle(seed=4).order())
    shuffled = read(infeed.netcdf(tmp_path / "a.nc").shuffle(seed=4))
    for name, array in arrays.items():
        same(shuffled[name], array[order])
    for axis in (1, 2, -1):
        got = read(infeed.netcdf(tmp_path / "a.nc", variables=["v2"], axis=axis))["v2"]
        same(got, np.moveaxis(arrays["v2"], axis, 0))


def test_one_row_a_file(tmp_path: Path) -> None:
    parts = [values(">f4", (k + 3, 2), k) for k in range(3)]
    for k, part in enumerate(parts):
        write(tmp_path / f"{k}.nc", {"x": part, "lat": np.arange(2.0) + k})
    whole = read(infeed.netcdf(tmp_path, rows="file"))
    assert sorted(whole) == ["lat", "x"]
    for k, part in enumerate(parts):
        same(np.asarray(whole["x"][k]), part)
    same(whole["lat"], np.arange(2.0) + np.arange(3.0)[:, None])
    some = infeed.netcdf(tmp_path, rows="file", variables=["lat"])
    assert some.rows() == 3 and list(read(some)) == ["lat"]
    patches = read(infeed.netcdf(tmp_path / "2.nc", rows="file", variables=["x"], patch=[2, 2]))
    same(patches["x"], np.stack([parts[2][at : at + 2] for at in (0, 2)]))
    with pytest.raises(ValueError, match="rows must be one of axis, file"):
        infeed.netcdf(tmp_path, rows="group").rows()  # type: ignore[arg-type]


def test_one_record_variable_and_text(tmp_path: Path) -> None:
    """A record variable that is alone is not filled up to four bytes."""
    write(tmp_path / "a.nc", {"x": values(">i2", (7, 3))})
    same(read(infeed.netcdf(tmp_path / "a.nc"))["x"], values(">i2", (7, 3)))
    names = np.array([list(f"n{k}".ljust(5, "\0")) for k in range(7)], "S1")
    write(tmp_path / "b.nc", {"x": values(">i2", (7, 3)), "name": names})
    assert read(infeed.netcdf(tmp_path / "b.nc"))["name"] == [f"n{k}" for k in range(7)]


def test_which_variables_are_taken_and_files_end_to_end(tmp_path: Path) -> None:
    parts = [values(">f4", (k + 3, 2), k) for k in range(3)]
    for k, part in enumerate(parts):
        write(tmp_path / f"{k}.nc", {"x": part, "y": part[:, 0], "lat": np.arange(2.0)})
    got = read(infeed.netcdf(tmp_path))
    assert list(got) == ["x", "y"]
    same(got["x"], np.concatenate(parts))
    assert "left out: lat" in str(infeed.netcdf(tmp_path).explain())
    with pytest.raises(ValueError, match=r"has no `latt`; did you mean `lat`\?"):
        infeed.netcdf(tmp_path / "0.nc", variables=["latt"]).rows()
    with pytest.raises(ValueError, match="`x` has 3 rows and `lat` has 2"):
        infeed.netcdf(tmp_path / "0.nc", variables=["x", "lat"]).rows()


def test_damaged_files_are_named(tmp_path: Path) -> None:
    write(tmp_path / "a.nc", {"x": values(">f4", (50, 20)), "y": values(">f4", (50,))})
    whole = (tmp_path / "a.nc").read_bytes()
    for end in (len(whole) - 1, len(whole) // 2, 100, 40, 9, 4):
        (tmp_path / "a.nc").write_bytes(whole[:end])
        with pytest.raises(Exception, match=r"a\.nc"):
            read(infeed.netcdf(tmp_path / "a.nc"))
    (tmp_path / "a.nc").write_bytes(b"CDF\x01" + b"\xff" * 200)
    with pytest.raises(Exception, match=r"a\.nc"):
        read(infeed.open(tmp_path / "a.nc"))
