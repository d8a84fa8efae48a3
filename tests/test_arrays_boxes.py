"""Windows, patches and stacked variables, compared with slicing in NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_arrays_numpy import read, same, values

import infeed

Row = dict[str, np.ndarray]
T, SHAPE = 11, (5, 7)


def arrays(steps: int = T) -> Row:
    """Two variables over time, of different types."""
    return {"x": values("<f4", (steps, *SHAPE), 1), "y": values("<i4", (steps, *SHAPE), 2)}


def write_npz(folder: Path, data: Row) -> Callable[..., infeed.Pipeline]:
    np.savez_compressed(folder / "a.npz", **data)
    return lambda **options: infeed.npz(folder / "a.npz", rows="axis", fields=list(data), **options)


def write_hdf5(folder: Path, data: Row) -> Callable[..., infeed.Pipeline]:
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "a.h5", "w") as file:
        for name, array in data.items():
            file.create_dataset(name, data=array, chunks=(2, 3, 4), compression="gzip", shuffle=True)
    return lambda **options: infeed.hdf5(folder / "a.h5", variables=list(data), **options)


def write_plain_hdf5(folder: Path, data: Row) -> Callable[..., infeed.Pipeline]:
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "a.h5", "w") as file:
        for name, array in data.items():
            # One as it is, one in chunks without filters.
            file.create_dataset(name, data=array, chunks=None if name == "x" else (2, 3, 4))
    return lambda **options: infeed.hdf5(folder / "a.h5", variables=list(data), **options)


def write_zarr(folder: Path, data: Row, **settings: Any) -> Callable[..., infeed.Pipeline]:
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(folder / "a.zarr"), mode="w", zarr_format=3)
    for name, array in data.items():
        group.create_array(name, shape=array.shape, dtype=array.dtype, **settings)[...] = array
    return lambda **options: infeed.zarr(folder / "a.zarr", variables=list(data), **options)


def write_netcdf(folder: Path, data: Row) -> Callable[..., infeed.Pipeline]:
    scipy_io = pytest.importorskip("scipy.io")
    with scipy_io.netcdf_file(str(folder / "a.nc"), "w") as file:
        for name, length in zip("tab", (None, *SHAPE), strict=True):
            file.createDimension(name, length)
        for name, array in data.items():
            file.createVariable(name, array.dtype.str[1:], ("t", "a", "b"))[:] = array
    return lambda **options: infeed.netcdf(folder / "a.nc", variables=list(data), **options)


def write_npy(folder: Path, data: Row) -> Callable[..., infeed.Pipeline]:
    dtype = [(name, array.dtype) for name, array in data.items()]
    table = np.empty(data["x"].shape, dtype)
    for name, array in data.items():
        table[name] = array
    np.save(folder / "a.npy", table)
    return lambda **options: infeed.npy(folder / "a.npy", **options)


FORMATS: dict[str, Callable[[Path, Row], Any]] = {
    "npy": write_npy,
    "npz": write_npz,
    "hdf5": write_hdf5,
    "hdf5 without filters": write_plain_hdf5,
    "netcdf": write_netcdf,
    "zarr": lambda folder, data: write_zarr(folder, data, chunks=(1, 3, 7)),
    "zarr, shards": lambda folder, data: write_zarr(folder, data, chunks=(2, 2, 2), shards=(4, 6, 4)),
    "zarr, plain": lambda folder, data: write_zarr(folder, data, chunks=(2, 3, 4), compressors=None),
}


def windows(steps: int, window: int, stride: int = 1, horizon: int = 0, gap: int = 0) -> range:
    """Where windows begin."""
    span = window + (gap + horizon if horizon else 0)
    return range(0, max(steps - span + 1, 0), stride)


def starts(side: int, size: int, stride: int, edge: str) -> list[int]:
    """Where patches begin along an axis."""
    inside = list(range(0, side - size + 1, stride))
    if edge == "drop" or (inside and inside[-1] + size >= side):
        return inside
    if edge == "shift":
        return [*inside, side - size]
    return [*inside, inside[-1] + stride if inside else 0]


def cut(array: np.ndarray, origin: tuple[int, ...], size: tuple[int, ...], fill: float = 0) -> np.ndarray:
    """A patch of the last axes, filled up where it reaches over the end."""
    places = tuple(slice(at, at + side) for at, side in zip(origin, size, strict=True))
    part = array[(..., *places)]
    missing = [(0, 0)] * (array.ndim - len(size))
    missing += [(0, side - has) for side, has in zip(size, part.shape[-len(size) :], strict=True)]
    return np.pad(part, missing, constant_values=fill)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    "form", [(1, 1, 0, 0), (3, 1, 0, 0), (3, 2, 2, 0), (2, 1, 1, 3), (4, 5, 2, 1), (11, 1, 0, 0)], ids=str
)
def test_windows(tmp_path: Path, kind: str, form: tuple[int, int, int, int]) -> None:
    data = arrays()
    window, stride, horizon, gap = form
    begins = windows(T, *form)
    opened = FORMATS[kind](tmp_path, data)
    pipeline = opened(window=window, stride=stride, horizon=horizon, gap=gap)
    assert len(pipeline) == len(begins)
    got = read(pipeline, batch=3)
    for name, array in data.items():
        same(got[name], np.stack([array[t : t + window] for t in begins]))
        if horizon:
            behind = [t + window + gap for t in begins]
            same(got[f"{name}.target"], np.stack([array[t : t + horizon] for t in behind]))
    assert ("x.target" in got) == (horizon > 0)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("edge", ["drop", "shift", "pad"])
@pytest.mark.parametrize("size", [(2, 3), (4,), (5, 7), (3, 5)], ids=str)
def test_grids(tmp_path: Path, kind: str, edge: str, size: tuple[int, ...]) -> None:
    data = arrays()
    opened = FORMATS[kind](tmp_path, data)
    sides = SHAPE[-len(size) :]
    for stride in (None, 2):
        steps = size if stride is None else (stride,) * len(size)
        axes = [starts(n, p, s, edge) for n, p, s in zip(sides, size, steps, strict=True)]
        origins = list(itertools.product(*axes))
        fill = {"patch_fill": 7} if edge == "pad" else {}
        got = read(opened(patch=size, patch_stride=stride, patch_edge=edge, **fill), batch=4)
        same(got["origin"], np.array(origins * T, "i8").reshape(-1, len(size)))
        for name, array in data.items():
            wanted = [cut(step, origin, size, 7) for step in array for origin in origins]
            same(got[name], np.stack(wanted))


@pytest.mark.parametrize("kind", FORMATS)
def test_windows_of_patches_stacked(tmp_path: Path, kind: str) -> None:
    data = {name: array.astype("<f4") for name, array in arrays().items()}
    opened = FORMATS[kind](tmp_path, data)
    form = {"window": 3, "stride": 2, "horizon": 2, "patch": (2, 4), "patch_stride": 3, "patch_edge": "shift"}
    got = read(opened(stack="all", targets=["y"], **form), batch=4)
    origins = list(itertools.product(starts(5, 2, 3, "shift"), starts(7, 4, 3, "shift")))
    both = np.stack([data["x"], data["y"]], 1)
    rows = [(t, origin) for t in windows(T, 3, 2, 2) for origin in origins]
    assert sorted(got) == ["all", "all.target", "origin"]
    same(got["all"], np.stack([cut(both[t : t + 3], at, (2, 4)) for t, at in rows]))
    same(got["all.target"], np.stack([cut(both[t + 3 : t + 5, 1:], at, (2, 4)) for t, at in rows]))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("how", ["mmap", "pread"])
def test_any_axis_and_order(tmp_path: Path, axis: int, order: Any, how: Any) -> None:
    array = np.asarray(values(">i2", (6, 5, 7)), order=order)
    np.save(tmp_path / "a.npy", array)
    moved = np.moveaxis(array, axis, 0)
    got = read(infeed.npy(tmp_path / "a.npy", axis=axis, window=2, read=how))
    same(got["data"], np.stack([moved[t : t + 2] for t in range(len(moved) - 1)]))
    got = read(infeed.npy(tmp_path / "a.npy", axis=axis, window=2, patch=(2, 2), patch_edge="pad", read=how))
    wanted = [
        cut(moved[t : t + 2], at, (2, 2))
        for t in range(len(moved) - 1)
        for at in itertools.product(*(starts(n, 2, 2, "pad") for n in moved.shape[1:]))
    ]
    same(got["data"], np.stack(wanted))


def volumes(folder: Path) -> list[Row]:
    """Volumes of different sizes, each with a mask of the same size and a number."""
    h5py = pytest.importorskip("h5py")
    out = []
    for k, shape in enumerate([(9, 8, 7), (6, 11, 8), (4, 4, 4), (12, 5, 9)]):
        row = {"image": values("<f4", (2, *shape), k), "mask": values("|u1", shape, k), "label": np.int64(k - 1)}
        with h5py.File(folder / f"{k}.h5", "w") as file:
            for name, array in row.items():
                chunks = tuple(min(side, 4) for side in array.shape)
                options = {"chunks": chunks, "compression": "gzip"} if array.ndim else {}
                file.create_dataset(name, data=array, **options)
        out.append(row)
    return out


def test_volumes_of_different_sizes(tmp_path: Path) -> None:
    """Image, mask and label go together; a file that is too small has no row."""
    rows = volumes(tmp_path)
    options: dict[str, Any] = {"rows": "file", "variables": ["image", "mask", "label"]}
    got = read(infeed.hdf5(tmp_path, patch=(5, 4, 4), **options))
    each = [
        (row, at)
        for row in rows
        for at in itertools.product(
            *(starts(n, p, p, "drop") for n, p in zip(row["mask"].shape, (5, 4, 4), strict=True))
        )
    ]
    assert len({row["label"].item() for row, _ in each}) == 3
    same(got["image"], np.stack([cut(row["image"], at, (5, 4, 4)) for row, at in each]))
    same(got["mask"], np.stack([cut(row["mask"], at, (5, 4, 4)) for row, at in each]))
    same(got["label"], np.array([row["label"] for row, _ in each]))
    same(got["origin"], np.array([at for _, at in each]))


def test_random_places_are_the_same_everywhere(tmp_path: Path) -> None:
    """On any number of threads and ranks, in every epoch; and they are where `origin` says."""
    rows = volumes(tmp_path)

    def opened(seed: int = 0) -> infeed.Pipeline:
        names = ["image", "mask"]
        return infeed.hdf5(tmp_path, rows="file", variables=names, patch=(3, 3, 4), patches=6, patch_seed=seed)

    got = read(opened())
    assert len(got["origin"]) == 24
    for at, origin in enumerate(got["origin"].tolist()):
        row = rows[at // 6]
        same(got["image"][at], cut(row["image"], tuple(origin), (3, 3, 4)))
        same(got["mask"][at], cut(row["mask"], tuple(origin), (3, 3, 4)))
        assert all(a + p <= n for a, p, n in zip(origin, (3, 3, 4), row["mask"].shape, strict=True))
    assert len(np.unique(got["origin"], axis=0)) > 12
    assert not np.array_equal(got["origin"], read(opened(1))["origin"])
    one = list(opened().shuffle(seed=3).batch(4).to_numpy(threads=1))
    four = list(opened().shuffle(seed=3).batch(4).to_numpy(threads=4))
    ranks = [list(opened().shuffle(seed=3).batch(2).to_numpy(rank=r, world_size=2)) for r in range(2)]
    for a, b, *halves in zip(one, four, *ranks, strict=True):
        for name in a:
            same(a[name], b[name])
            same(np.concatenate([half[name] for half in halves]), a[name])


def test_another_place_every_epoch(tmp_path: Path) -> None:
    """All places, of which a shuffle takes some."""
    array = values("<f4", (20, 30, 30))
    np.save(tmp_path / "a.npy", array)
    pipeline = infeed.npy(tmp_path / "a.npy", rows="file", patch=(8, 8, 8), patch_stride=1)
    assert len(pipeline) == 13 * 23 * 23
    loader = pipeline.shuffle(seed=1).take(10).batch(5).to_numpy()
    epochs = [[tuple(o) for batch in loader for o in batch["origin"].tolist()] for _ in range(3)]
    assert [len(epoch) for epoch in epochs] == [10, 10, 10]
    assert len({origin for epoch in epochs for origin in epoch}) > 25
    loader.close()


def test_windows_do_not_cross_files(tmp_path: Path) -> None:
    parts = [values("<f4", (n, 3), n) for n in (5, 2, 7)]
    paths = [tmp_path / f"{k}.npy" for k in range(3)]
    for path, part in zip(paths, parts, strict=True):
        np.save(path, part)
    pipeline = infeed.npy(paths, window=3, stride=3)
    same(read(pipeline)["data"], np.stack([parts[0][:3], parts[2][:3], parts[2][3:6]]))
    said = str(pipeline.explain())
    assert "windows do not cross files: 5 of 14 steps at the ends of 3 files are not used" in said
    assert "bytes decoded" in said


def test_wrong_arguments(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", values("<f4", (4, 3, 3)))
    for options, message in [
        ({"window": 5}, "a window of 5 steps takes 5, and the longest of 1 files has 4"),
        ({"stride": 2}, "stride belongs to window="),
        ({"window": 2, "horizon": 1, "targets": ["dat"]}, "did you mean `data`"),
        ({"patch": (4, 4)}, r"patch=\[4, 4\] does not fit into the last axes \[3, 3\]"),
        ({"patch": (1, 1, 1)}, r"has the shape \[3, 3\], and patch=\[1, 1, 1\]"),
        ({"patch": (2, 2), "patch_edge": "wrap"}, "patch_edge must be"),
        ({"patch": (2, 2), "patches": 0}, "patches must be a whole number of at least 1"),
        ({"windw": 2}, "windw"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            len(infeed.npy(tmp_path / "a.npy", **options))
