"""Windows that go from one file to the next, compared with windows of the files laid end to end."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_arrays_numpy import read, same, values

import infeed

LENGTHS = [5, 1, 0, 7, 3, 2]


def write_npy(root: Path, parts: list[np.ndarray]) -> Any:
    for k, part in enumerate(parts):
        np.save(root / f"{k}.npy", part)
    return lambda **how: infeed.npy(root, rows="axis", **how)


def write_hdf5(root: Path, parts: list[np.ndarray]) -> Any:
    h5py = pytest.importorskip("h5py")
    for k, part in enumerate(parts):
        with h5py.File(root / f"{k}.h5", "w") as file:
            chunks = {"chunks": (min(3, len(part)), 4, 2), "compression": "gzip"} if len(part) else {}
            file.create_dataset("data", data=part, **chunks)
    return lambda **how: infeed.hdf5(root, variables=["data"], **how)


def write_zarr(root: Path, parts: list[np.ndarray]) -> Any:
    zarr = pytest.importorskip("zarr", "3.0")
    for k, part in enumerate(parts):
        top = zarr.open_group(str(root / f"{k}.zarr"), mode="w")
        top.create_array("data", data=part, chunks=(2, 3, 5))
    return lambda **how: infeed.zarr(root, variables=["data"], **how)


@pytest.fixture(params=[write_npy, write_hdf5, write_zarr])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, np.ndarray]:
    """A function that opens the files, and all of them end to end."""
    whole = values("<i4", (sum(LENGTHS), 4, 6))
    ends = np.cumsum([0, *LENGTHS])
    parts = [whole[a:b] for a, b in itertools.pairwise(ends)]
    if request.param is write_zarr:
        parts = [part for part in parts if len(part)]  # zarr-python has no chunks for nothing.
    return request.param(tmp_path, parts), whole


@pytest.mark.parametrize(
    ("window", "stride", "horizon", "gap"), [(4, 1, 0, 0), (3, 2, 2, 1), (9, 4, 3, 0), (1, 5, 1, 2)]
)
def test_windows_of_the_files_laid_end_to_end(
    opened: tuple[Any, np.ndarray], window: int, stride: int, horizon: int, gap: int
) -> None:
    start, whole = opened
    pipeline = start(window=window, stride=stride, horizon=horizon, gap=gap, across=True)
    span = window + (gap + horizon if horizon else 0)
    begins = range(0, len(whole) - span + 1, stride)
    got = read(pipeline)
    same(got["data"], np.stack([whole[k : k + window] for k in begins]))
    if horizon:
        first = window + gap
        same(got["data.target"], np.stack([whole[k + first : k + first + horizon] for k in begins]))
    order = np.asarray(pipeline.shuffle(seed=5).order())
    same(read(pipeline.shuffle(seed=5))["data"], np.stack([whole[k : k + window] for k in np.asarray(begins)[order]]))
    unused = len(whole) - (begins[-1] + span)
    assert f"windows go from file to file: {unused} of {len(whole)} steps" in pipeline.explain()


def test_patches_and_stacks(opened: tuple[Any, np.ndarray]) -> None:
    start, whole = opened
    pipeline = start(window=4, patch=(2, 3), patch_stride=(2, 3), across=True, stack=True)
    got = read(pipeline)
    wanted = [
        whole[k : k + 4, None, a : a + 2, b : b + 3] for k in range(len(whole) - 3) for a in (0, 2) for b in (0, 3)
    ]
    same(got["data"], np.stack(wanted))


def test_ranks_and_states(opened: tuple[Any, np.ndarray]) -> None:
    start, _ = opened
    pipeline = start(window=6, across=True).shuffle(seed=1).batch(2)
    whole = [batch["data"] for batch in pipeline.to_numpy()]
    loader = pipeline.to_numpy()
    iterator = iter(loader)
    first = [next(iterator)["data"] for _ in range(3)]
    again = pipeline.to_numpy()
    again.load_state_dict(loader.state_dict())
    same(np.concatenate([*first, *(batch["data"] for batch in again)]), np.concatenate(whole))


def test_messages(opened: tuple[Any, np.ndarray]) -> None:
    start, whole = opened
    with pytest.raises(ValueError, match="windows do not cross files unless across=True lets them"):
        len(start(window=9))
    with pytest.raises(ValueError, match=f"files have {len(whole)} together"):
        len(start(window=99, across=True))
    with pytest.raises(ValueError, match="across belongs to window="):
        len(start(across=True))
