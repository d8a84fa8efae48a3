"""Boxes out of big arrays: infeed against h5py, zarr-python and xarray in torch's DataLoader, in turns.

`python benches/array_boxes.py [--only crops] [--steps 200] [--side 192] [--folder FOLDER]` writes its data once and
prints, for each work, rows per second, the best of some rounds, and the ratio. Files are in the page cache. Every reader
touches one element of each batch. Two epochs are timed, from the first batch asked for to the last one had. Workers of
the DataLoader stay between them; infeed's files are opened anew each time, so that no decoded chunk is left over.

* crops hdf5, crops zarr: random crops of 128^3 out of volumes (float32) in chunks of 64^3, lz4 and blosc-lz4, batches of
  two, 16 crops of each volume. The same once more with 128 MB of memory for infeed, less than the decoded data.
* forecast: pairs of two steps and the one behind them, of 8 variables x 181 x 360 (float32) with a chunk for each step
  and variable, blosc-lz4, shuffled, batches of four, against indexing with xarray, and with xbatcher if it is there.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import torch
import zarr

import arrays
import infeed
from arrays import repeated, turns, volume

VOLUMES = 8
CROP = 128
CROPS = 16
NAMES = ["t2m", "u10", "v10", "msl", "z500", "t850", "q700", "tp"]
GRID = (181, 360)
Work = tuple[int, dict[str, Iterable[Any]]]


class Crops(torch.utils.data.Dataset[Any]):
    """Crops at random places, as users of h5py and zarr-python cut them: the file is opened in each worker."""

    def __init__(self, open_it: Callable[[], Any], side: int) -> None:
        self.open_it, self.data = open_it, None
        rng = np.random.default_rng(0)
        self.places = rng.integers(0, side - CROP + 1, (VOLUMES * CROPS, 3))

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, at: int) -> torch.Tensor:
        if self.data is None:
            self.data = self.open_it()
        a, b, c = self.places[at]
        return torch.from_numpy(self.data[at // CROPS, a : a + CROP, b : b + CROP, c : c + CROP])


class Pairs(torch.utils.data.Dataset[Any]):
    """Windows by xarray: with its indexing, or through xbatcher."""

    def __init__(self, path: Path, steps: int, batcher: bool) -> None:
        self.path, self.steps, self.batcher, self.data = path, steps, batcher, None

    def __len__(self) -> int:
        return self.steps - 2

    def __getitem__(self, at: int) -> tuple[torch.Tensor, torch.Tensor]:
        if self.data is None:
            import xarray

            self.data = xarray.open_zarr(str(self.path), chunks=None, consolidated=False)
            if self.batcher:
                import xbatcher

                sizes = {"time": 3, "lat": GRID[0], "lon": GRID[1]}
                self.data = xbatcher.BatchGenerator(self.data, sizes, input_overlap={"time": 2})
        rows = self.data[at] if self.batcher else self.data.isel(time=slice(at, at + 3))
        both = torch.from_numpy(np.stack([rows[name].values for name in NAMES], 1))
        return both[:2], both[2:]


class First:
    """The windows of batches of pairs."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self.batches = batches

    def __iter__(self) -> Any:
        return (batch[0] for batch in self.batches)


def loader(data: torch.utils.data.Dataset[Any], batch: int) -> Iterable[Any]:
    return torch.utils.data.DataLoader(data, batch, shuffle=True, num_workers=2, persistent_workers=True)


def write_crops(folder: Path, kind: str, side: int) -> Path:
    path = folder / f"crops-{side}.{'h5' if kind == 'hdf5' else 'zarr'}"
    if path.exists():
        return path
    part = path.with_suffix(".part")
    shape, chunks = (VOLUMES, side, side, side), (1, 64, 64, 64)
    if kind == "hdf5":
        with h5py.File(part, "w") as file:
            data = file.create_dataset("x", shape, "f4", chunks=chunks, **hdf5plugin.LZ4())
            for k in range(VOLUMES):
                data[k] = volume(side, k)
    else:
        codec = zarr.codecs.BloscCodec(cname="lz4", shuffle="shuffle")
        group = zarr.open_group(str(part), mode="w")
        data = group.create_array("x", shape=shape, dtype="f4", chunks=chunks, compressors=codec)
        for k in range(VOLUMES):
            data[k] = volume(side, k)
    part.rename(path)
    return path


def write_forecast(folder: Path, steps: int) -> Path:
    path = folder / f"forecast-{steps}.zarr"
    if path.exists():
        return path
    part = path.with_suffix(".part")
    group = zarr.open_group(str(part), mode="w")
    codec = zarr.codecs.BloscCodec(cname="lz4", shuffle="shuffle")
    rng = np.random.default_rng(0)
    smooth = np.sin(np.linspace(0, 6, GRID[0]))[:, None] * np.cos(np.linspace(0, 12, GRID[1]))
    for name in NAMES:
        data = group.create_array(
            name,
            shape=(steps, *GRID),
            dtype="f4",
            chunks=(1, *GRID),
            compressors=codec,
            dimension_names=("time", "lat", "lon"),
        )
        for step in range(steps):
            noise = rng.integers(0, 64, GRID, dtype="i4")
            data[step] = ((np.round((smooth + step / 50) * 4096) * 64 + noise) / 4096).astype("f4")
    part.rename(path)
    return path


def crops(folder: Path, kind: str, side: int) -> Work:
    path = write_crops(folder, kind, side)
    opened = infeed.hdf5 if kind == "hdf5" else infeed.zarr

    def pipeline() -> infeed.Pipeline:
        return opened(path, variables=["x"], patch=(CROP,) * 3, patches=CROPS).shuffle(seed=0).batch(2)

    def open_it() -> Any:
        return h5py.File(path)["x"] if kind == "hdf5" else zarr.open_group(str(path), mode="r")["x"]

    peer = "h5py" if kind == "hdf5" else "zarr-python"
    return VOLUMES * CROPS, {
        "infeed": Fresh(pipeline, "x"),
        "infeed, 128 MB": Fresh(pipeline, "x", memory="128MB"),
        peer: repeated(loader(Crops(open_it, side), 2)),
    }


class Fresh:
    """Epochs of a pipeline that is opened for them: decoded chunks stay with it, and with the next loader."""

    def __init__(self, pipeline: Callable[[], infeed.Pipeline], field: str, **options: Any) -> None:
        self.pipeline, self.field, self.options = pipeline, field, options

    def __iter__(self) -> Any:
        with self.pipeline().to_torch(threads=2, **self.options) as batches:
            for _ in range(arrays.EPOCHS):
                for batch in batches:
                    yield batch[self.field]


def forecast(folder: Path, steps: int) -> Work:
    path = write_forecast(folder, steps)

    def pairs() -> infeed.Pipeline:
        return infeed.zarr(path, variables=NAMES, window=2, horizon=1, stack=True).shuffle(seed=0).batch(4)

    works: dict[str, Iterable[Any]] = {"infeed": Fresh(pairs, "data")}
    for name in ("xarray", "xbatcher"):
        if importlib.util.find_spec(name):
            works[name] = repeated(First(loader(Pairs(path, steps, name == "xbatcher"), 4)))
    return steps - 2, works


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the data is kept; a temporary folder otherwise")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side", type=int, default=256, help="the side of volumes")
    parser.add_argument("--steps", type=int, default=1000, help="the steps of the forecast")
    parser.add_argument("--only", nargs="+")
    args = parser.parse_args()
    arrays.EPOCHS = 2
    works: dict[str, Callable[[Path], Work]] = {
        "crops hdf5": lambda folder: crops(folder, "hdf5", args.side),
        "crops zarr": lambda folder: crops(folder, "zarr", args.side),
        "forecast": lambda folder: forecast(folder, args.steps),
    }
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, make in works.items():
            if args.only and not any(word in name for word in args.only):
                continue
            rows, work = make(folder)
            best = turns(work, args.rounds)
            rates = {who: arrays.EPOCHS * rows / seconds for who, seconds in best.items()}
            others = [f"{who} {rate:.1f} ({rates['infeed'] / rate:.1f} x)" for who, rate in rates.items()]
            print(f"{name:<12} infeed {rates['infeed']:.1f} rows/s; {', '.join(others[1:])}", flush=True)
            # Workers end here, and not in copies of them that the next loader forks.
            work.clear()
            gc.collect()


if __name__ == "__main__":
    main()
