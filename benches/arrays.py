"""Arrays in files: infeed against NumPy, h5py, zarr-python and zarrs in torch's DataLoader, in turns.

`python benches/arrays.py [--only npy lz4] [--folder FOLDER]` writes its data once and prints, for each work, GB (or
million rows) of decoded data per second, the best of some rounds, and the ratio. Files are in the page cache. Every
reader touches one element of each batch. Four epochs are timed, from the first batch asked for to the last one had.
Workers of the DataLoader stay between them; infeed's loader is made and closed each time.

* npy, npz: volumes of 64 MB (float32), one a file, batches of one. DataLoader with two workers; NumPy in this process
  alone, too.
* gzip, lz4: volumes of 8 MB in one chunked data set (64 x 64 x 64 chunks), batches of one, against h5py in two
  workers; and slices of 128 x 128 in chunks of 16, batches of 32.
* zarr: the same volumes with blosc-lz4, against zarr-python, and against zarrs if it is there: in two workers, and in
  this process with the threads that it starts itself.
* rows: 50,000 x 32 x 32 x 3 (uint8) in one `.npy`, shuffled batches of 256, against indexing a memmap.
* memory: the bandwidth of reading the files of `npy` from the page cache, with two threads.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import torch
import zarr

import infeed

VOLUMES = 8
SIDE = 256
SAMPLES = 16
SAMPLE = 128
ROWS = 50_000
EPOCHS = 4
SLICES = 2048


def volume(side: int, seed: int = 1) -> np.ndarray[Any, Any]:
    """Smooth values with some noise in their lower bits, as measurements have."""
    rng = np.random.default_rng(seed)
    axis = np.linspace(0, 6, side, dtype="f4")
    smooth = np.sin(axis)[:, None, None] * np.cos(axis)[None, :, None] + axis[None, None, :]
    noise = rng.integers(0, 64, smooth.shape, dtype="i4")
    return (np.round(smooth * 4096) * 64 + noise).astype("f4") / 4096


class Files(torch.utils.data.Dataset[Any]):
    """One array a file, as NumPy's users read them."""

    def __init__(self, folder: Path, ending: str) -> None:
        self.paths = sorted(folder.glob(f"*{ending}"))

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, at: int) -> torch.Tensor:
        loaded = np.load(self.paths[at])
        return torch.from_numpy(loaded["x"] if self.paths[at].suffix == ".npz" else loaded)


class DataSet(torch.utils.data.Dataset[Any]):
    """Rows of a data set, as h5py's users read them: the file is opened in each worker."""

    def __init__(self, path: Path, name: str, rows: int) -> None:
        self.path, self.name, self.rows, self.data = path, name, rows, None

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, at: int) -> torch.Tensor:
        if self.data is None:
            self.data = h5py.File(self.path)[self.name]
        return torch.from_numpy(self.data[at])


class ZarrArray(torch.utils.data.Dataset[Any]):
    """Rows of a Zarr array, as zarr-python's users read them, with its own codecs or those of zarrs."""

    def __init__(self, path: Path, zarrs: bool) -> None:
        self.path, self.zarrs, self.data = path, zarrs, None

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, at: int) -> torch.Tensor:
        own = "zarr.core.codec_pipeline.BatchedCodecPipeline"
        with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline" if self.zarrs else own}):
            if self.data is None:
                self.data = zarr.open_array(str(self.path), mode="r")
            return torch.from_numpy(self.data[at])


def loader(data: torch.utils.data.Dataset[Any], batch: int, workers: int = 2) -> Iterable[torch.Tensor]:
    return torch.utils.data.DataLoader(data, batch, num_workers=workers, persistent_workers=workers > 0)


def ours(pipeline: infeed.Pipeline, field: str) -> Iterable[Any]:
    """The field of every batch of some epochs. The loader is made for them: none of its batches is there before."""

    class Field:
        def __iter__(self) -> Iterator[Any]:
            with pipeline.to_torch(threads=2) as batches:
                for _ in range(EPOCHS):
                    for batch in batches:
                        yield batch[field]

    return Field()


def repeated(batches: Iterable[Any]) -> Iterable[Any]:
    """Some epochs of a loader."""

    class Epochs:
        def __iter__(self) -> Iterator[Any]:
            for _ in range(EPOCHS):
                yield from batches

    return Epochs()


def memmap(path: Path, batch: int) -> Iterable[Any]:
    array = np.load(path, mmap_mode="r")

    class Loop:
        def __init__(self) -> None:
            self.rng = np.random.default_rng(0)

        def __iter__(self) -> Iterator[Any]:
            order = self.rng.permutation(len(array))
            return (array[order[at : at + batch]] for at in range(0, len(order), batch))

    return Loop()


def timed(batches: Iterable[Any]) -> float:
    start = time.perf_counter()
    for batch in batches:
        batch[-1].reshape(-1)[-1].item()
    return time.perf_counter() - start


def turns(work: dict[str, Iterable[Any]], rounds: int) -> dict[str, float]:
    """The best time of each, after one that nobody counts."""
    best = {name: timed(batches) * 0 + float("inf") for name, batches in work.items()}
    for _ in range(rounds):
        for name, batches in work.items():
            best[name] = min(best[name], timed(batches))
    return best


def write_volumes(folder: Path) -> None:
    for kind in ("npy", "npz"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    for k in range(VOLUMES):
        if not (folder / "npz" / f"{k}.npz").exists():
            data = volume(SIDE, k)
            np.save(folder / "npy" / f"{k}.npy", data)
            np.savez(folder / "npz" / f"{k}.npz", x=data)


def write_chunks(folder: Path) -> Path:
    path = folder / "chunks.h5"
    if not path.exists():
        data = np.stack([volume(SAMPLE, k) for k in range(SAMPLES)])
        slices = data.reshape(-1)[: SLICES * 128 * 128].reshape(SLICES, 128, 128)
        part = path.with_suffix(".part")
        with h5py.File(part, "w") as file:
            for name, options in {"gzip": {"compression": "gzip"}, "lz4": dict(hdf5plugin.LZ4())}.items():
                file.create_dataset(name, data=data, chunks=(1, 64, 64, 64), **options)
                file.create_dataset(f"{name}-slices", data=slices, chunks=(16, 128, 128), **options)
        part.rename(path)
    return path


def write_zarr(folder: Path) -> Path:
    path = folder / "chunks.zarr"
    if not path.exists():
        data = np.stack([volume(SAMPLE, k) for k in range(SAMPLES)])
        codec = zarr.codecs.BloscCodec(cname="lz4", shuffle="shuffle")
        part = path.with_suffix(".part")
        zarr.create_array(str(part), data=data, chunks=(1, 64, 64, 64), compressors=codec)
        part.rename(path)
    return path


def write_rows(folder: Path) -> Path:
    path = folder / "rows.npy"
    if not path.exists():
        np.save(path, np.random.default_rng(0).integers(0, 256, (ROWS, 32, 32, 3), "u1"))
    return path


def volumes(folder: Path, kind: str) -> tuple[float, dict[str, Iterable[Any]]]:
    write_volumes(folder)
    opened = infeed.npy(folder / "npy") if kind == "npy" else infeed.npz(folder / "npz")
    files = Files(folder / kind, f".{kind}")
    return VOLUMES * SIDE**3 * 4 / 1e9, {
        "infeed": ours(opened.batch(1), "data" if kind == "npy" else "x"),
        "DataLoader": repeated(loader(files, 1)),
        "NumPy": repeated(loader(files, 1, 0)),
    }


def chunks(folder: Path, name: str, batch: int) -> tuple[float, dict[str, Iterable[Any]]]:
    path = write_chunks(folder)
    with h5py.File(path) as file:
        rows, size = len(file[name]), file[name].nbytes / 1e9
    pipeline = infeed.hdf5(path, variables=[name])
    return size, {
        "infeed": ours(pipeline.batch(batch), name),
        "DataLoader": repeated(loader(DataSet(path, name, rows), batch)),
    }


def whole_zarr(folder: Path) -> tuple[float, dict[str, Iterable[Any]]]:
    path = write_zarr(folder)
    work: dict[str, Iterable[Any]] = {
        "infeed": ours(infeed.zarr(path).batch(1), "data"),
        "DataLoader": repeated(loader(ZarrArray(path, False), 1)),
    }
    if importlib.util.find_spec("zarrs"):
        import zarrs  # noqa: F401

        work["zarrs, DataLoader"] = repeated(loader(ZarrArray(path, True), 1))
        work["zarrs"] = repeated(loader(ZarrArray(path, True), 1, 0))
    return SAMPLES * SAMPLE**3 * 4 / 1e9, work


def rows(folder: Path) -> tuple[float, dict[str, Iterable[Any]]]:
    path = write_rows(folder)
    pipeline = infeed.npy(path).shuffle(seed=0).batch(256)
    return ROWS / 1e6, {"infeed": ours(pipeline, "data"), "memmap": repeated(memmap(path, 256))}


def bandwidth(folder: Path) -> float:
    """GB/s of reading files from the page cache into memory that is there, with two threads."""
    write_volumes(folder)
    paths = sorted((folder / "npy").glob("*.npy"))
    best = 0.0
    buffers = [bytearray(paths[0].stat().st_size) for _ in range(2)]
    for _ in range(5):
        start = time.perf_counter()

        def read(own: int) -> None:
            for path in paths[own::2]:
                with path.open("rb", buffering=0) as file:
                    file.readinto(buffers[own])

        threads = [threading.Thread(target=read, args=(own,)) for own in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        best = max(best, sum(path.stat().st_size for path in paths) / (time.perf_counter() - start) / 1e9)
    return best


WORKS: dict[str, Callable[[Path], tuple[float, dict[str, Iterable[Any]]]]] = {
    "npy": lambda folder: volumes(folder, "npy"),
    "npz": lambda folder: volumes(folder, "npz"),
    "gzip": lambda folder: chunks(folder, "gzip", 1),
    "lz4": lambda folder: chunks(folder, "lz4", 1),
    "gzip slices": lambda folder: chunks(folder, "gzip-slices", 32),
    "lz4 slices": lambda folder: chunks(folder, "lz4-slices", 32),
    "zarr": whole_zarr,
    "rows": rows,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the data is kept; a temporary folder otherwise")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, make in WORKS.items():
            if args.only and not any(word in name for word in args.only):
                continue
            size, work = make(folder)
            best = turns(work, args.rounds)
            rates = {who: EPOCHS * size / seconds for who, seconds in best.items()}
            unit = "M rows/s" if name == "rows" else "GB/s"
            peers = ", ".join(
                f"{who} {rate:.2f} ({rates['infeed'] / rate:.1f} x)" for who, rate in rates.items() if who != "infeed"
            )
            print(f"{name:<12} infeed {rates['infeed']:.2f} {unit}; {peers}", flush=True)
            # Workers end here, and not in copies of them that the next loader forks.
            work.clear()
            gc.collect()
        if not args.only or "memory" in args.only:
            print(f"{'memory':<12} {bandwidth(folder):.2f} GB/s from the page cache, two threads", flush=True)


if __name__ == "__main__":
    main()
