"""Small data sets whose rows are boxes of arrays: windows and patches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from format_cases import Made, Row, case

import infeed


@case("hdf5, windows")
def hdf5_windows(folder: Path) -> Made:
    """Pairs of three steps and the step behind the next one; a file that is too short has none."""
    h5py = pytest.importorskip("h5py")
    rows: list[Row] = []
    for k, steps in enumerate((30, 4, 34)):
        x = np.arange(steps * 6, dtype="f4").reshape(steps, 2, 3) + 1000 * k
        with h5py.File(folder / f"part-{k}.h5", "w") as file:
            file.create_dataset("x", data=x, chunks=(4, 2, 2), compression="gzip")
        ends = range(steps - 4)
        rows += [{"x": x[t : t + 3].tolist(), "x.target": x[t + 4 : t + 5].tolist()} for t in ends]
    return Made(infeed.hdf5(folder, window=3, horizon=1, gap=1), rows, "x.target")


@case("zarr, patches")
def zarr_patches(folder: Path) -> Made:
    """A grid over each step, with overlap and the last patch shifted."""
    zarr = pytest.importorskip("zarr")
    paths, rows = [], []
    for k, steps in enumerate((6, 1, 7)):
        x = np.arange(steps * 35, dtype="i4").reshape(steps, 5, 7) + 1000 * k
        paths.append(folder / f"part-{k}.zarr")
        array = zarr.create_array(str(paths[-1]), shape=x.shape, dtype=x.dtype, chunks=(1, 2, 4), zarr_format=2)
        array[...] = x
        places = [(a, b) for a in (0, 2) for b in (0, 3)]
        rows += [{"data": step[a : a + 3, b : b + 4].tolist(), "origin": [a, b]} for step in x for a, b in places]
    patch: dict[str, Any] = {"patch": (3, 4), "patch_stride": (2, 3), "patch_edge": "shift"}
    return Made(infeed.zarr(paths, **patch), rows, "data")
