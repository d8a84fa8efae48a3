"""Sources side by side, by the numbers of rows and by a coordinate, compared with NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_arrays_numpy import read, same, values

import infeed

h5py = pytest.importorskip("h5py")


def write(path: Path, name: str, times: Any, shape: tuple[int, ...] = (3, 2), **units: str) -> np.ndarray:
    """A file with a variable over time, in chunks of several steps."""
    array = values("<f4", (len(times), *shape), len(name))
    with h5py.File(path, "w") as file:
        file.create_dataset(name, data=array, chunks=(min(4, len(times)), *shape), compression="gzip")
        file["time"] = np.asarray(times)
        file["time"].attrs.update(units)
    return array


def test_rows_of_the_same_number(tmp_path: Path) -> None:
    x = write(tmp_path / "x.h5", "x", np.arange(12))
    y = write(tmp_path / "y.h5", "y", np.arange(12) + 100, (5,))
    labels = np.arange(12)
    parts = [
        infeed.hdf5(tmp_path / "x.h5", variables=["x"]),
        infeed.hdf5(tmp_path / "y.h5", variables=["y"]),
        infeed.arrays(label=labels),
    ]
    got = read(infeed.zip(parts))
    assert list(got) == ["x", "y", "label"]
    same(got["x"], x)
    same(got["y"], y)
    order = np.asarray(infeed.zip(parts).shuffle(seed=4).order())
    assert sorted(order) == list(range(12))
    got = read(infeed.zip(parts).shuffle(seed=4))
    for name, array in (("x", x), ("y", y), ("label", labels)):
        same(got[name], array[order])
    windows = [infeed.hdf5(tmp_path / f"{name}.h5", variables=[name], window=3, horizon=1) for name in "xy"]
    got = read(infeed.zip(windows))
    same(got["x"], np.stack([x[k : k + 3] for k in range(9)]))
    same(got["y.target"], np.stack([y[k + 3 : k + 4] for k in range(9)]))
    named = infeed.zip([parts[0], parts[0]], names=["a", "b"])
    assert sorted(read(named)) == ["a.x", "b.x"]


def test_joins_on_time(tmp_path: Path) -> None:
    times, others = np.arange(0, 60, 3), np.array([6, 9, 12, 30, 31, 33, 36, 3, 57.0, 200])
    x, y = write(tmp_path / "x.h5", "x", times), write(tmp_path / "y.h5", "y", others, (5,))
    pipeline = infeed.zip(
        [infeed.hdf5(tmp_path / "x.h5", variables=["x"]), infeed.hdf5(tmp_path / "y.h5")], on="time"
    )
    common = [time for time in times if time in others]
    got = read(pipeline)
    assert sorted(got) == ["x", "y"]
    same(got["x"], x[[list(times).index(time) for time in common]])
    same(got["y"], y[[list(others).index(time) for time in common]])
    assert f"to {len(common)} rows (part 0 leaves out {20 - len(common)} of 20 rows" in pipeline.explain()
    # States go on where they stood.
    shuffled = pipeline.shuffle(seed=3).batch(2)
    whole = [batch["x"] for batch in shuffled.to_numpy()]
    loader = shuffled.to_numpy()
    iterator = iter(loader)
    first = [next(iterator)["x"], next(iterator)["x"]]
    state = loader.state_dict()
    again = shuffled.to_numpy()
    again.load_state_dict(state)
    same(np.concatenate([*first, *(batch["x"] for batch in again)]), np.concatenate(whole))


def test_windows_join_where_all_steps_do(tmp_path: Path) -> None:
    times = np.arange(20)
    gaps = np.array([2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14])  # 8 is missing.
    x, y = write(tmp_path / "x.h5", "x", times), write(tmp_path / "y.h5", "y", gaps)
    how: dict[str, Any] = {"window": 2, "horizon": 1, "gap": 1}
    parts = [
        infeed.hdf5(tmp_path / "x.h5", variables=["x"], stack=True, **how),
        infeed.hdf5(tmp_path / "y.h5", variables=["y"], **how),
    ]
    got = read(infeed.zip(parts, on="time"))
    starts = [t for t in times if all(step in gaps for step in (t, t + 1, t + 3)) and t + 2 in gaps]
    # A window of part 1 must have the steps of part 0, so none goes over the missing one.
    assert starts == [2, 3, 4, 9, 10, 11]
    where = [list(gaps).index(t) for t in starts]
    same(got["data"][:, :, 0], np.stack([x[t : t + 2] for t in starts]))
    same(got["y"], np.stack([y[k : k + 2] for k in where]))
    same(got["y.target"], np.stack([y[k + 3 : k + 4] for k in where]))
    with pytest.raises(infeed.PlanError, match="differ in the steps of a row"):
        infeed.zip([parts[0], infeed.hdf5(tmp_path / "y.h5", variables=["y"], window=3)], on="time").explain()


def test_zarr_and_netcdf(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", "3.0")
    scipy_io = pytest.importorskip("scipy.io")
    x = values("<f4", (9, 4))
    top = zarr.open_group(str(tmp_path / "a.zarr"), mode="w")
    top.create_array("x", data=x, chunks=(2, 4))
    top.create_array("time", data=np.arange(9)).attrs["units"] = "hours since 2000-01-01"
    with scipy_io.netcdf_file(str(tmp_path / "b.nc"), "w") as file:
        file.createDimension("time", 5)
        file.createVariable("y", "i4", ("time",))[:] = np.arange(5)
        file.createVariable("time", "f8", ("time",))[:] = [8, 1, 3, 20, 0.5]
        file.variables["time"].units = "hours  since 2000-01-01"
    got = read(
        infeed.zip(
            [
                infeed.zarr(tmp_path / "a.zarr", variables=["x", "time"]),
                infeed.netcdf(tmp_path / "b.nc", variables=["y"]),
            ],
            on="time",
        )
    )
    same(got["time"], np.array([1, 3, 8]))
    same(got["x"], x[[1, 3, 8]])
    same(got["y"], np.array([1, 2, 0], "i4"))


def test_what_cannot_be_zipped(tmp_path: Path) -> None:
    hours = {"units": "hours since 2000-01-01"}
    for name, times, units in (
        ("a", np.arange(9), hours),
        ("b", np.arange(7), {"units": "days since 2000-01-01"}),
        ("c", np.array([1, 2, 1]), {}),
        ("d", np.array([1, np.nan]), {}),
        ("e", np.arange(100, 104), {}),
        ("f", np.arange(9), hours | {"calendar": "noleap"}),
    ):
        write(tmp_path / f"{name}.h5", name, times, **units)

    def part(name: str, **how: Any) -> infeed.Pipeline:
        return infeed.hdf5(tmp_path / f"{name}.h5", variables=[name], **how)

    for other, message in (
        ("b", "counted in `hours since 2000-01-01` in part 0 .* and in `days since"),
        ("c", "rows 0 and 2 of part 1 .* have the same `time`"),
        ("d", "is no number in row 1"),
        ("e", "no value of `time` is in all 2 parts"),
        ("f", r"\(noleap\)"),
    ):
        with pytest.raises(infeed.PlanError, match=message):
            infeed.zip([part("a"), part(other)], on="time").explain()
    with pytest.raises(infeed.PlanError, match="part 0 has 9 rows, and part 1 has 7"):
        infeed.zip([part("a"), part("b")]).explain()
    with pytest.raises(infeed.PlanError, match="patches cannot be joined"):
        infeed.zip([part("a"), part("f", patch=(1, 1))], on="time").explain()
    with pytest.raises(ValueError, match="no `when`"):
        infeed.zip([part("a"), part("b")], on="when").explain()
    several = infeed.hdf5([tmp_path / "a.h5", tmp_path / "f.h5"], variables=["time"])
    with pytest.raises(ValueError, match="write it in the same units everywhere"):
        infeed.zip([several, part("a")], on="time").explain()
    with pytest.raises(ValueError, match="zip the sources first"):
        infeed.zip([part("a").shuffle(), part("b")])
    with pytest.raises(ValueError, match="makes samples in Python"):
        infeed.zip([part("a"), infeed.wrap([1, 2, 3])])
    with pytest.raises(ValueError, match="different name for each"):
        infeed.zip([part("a"), part("b")], names=["x", "x"])
