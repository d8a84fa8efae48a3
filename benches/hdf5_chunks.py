"""Reading chunked HDF5: the crate `infeed-hdf5` with one and two threads against h5py, in turns.

`python benches/hdf5_chunks.py` writes a volume of 64 MB (float32) once per filter, has every reader read all of it a few
times, and prints GB of decoded bytes per second and the ratios. Files are in the page cache; each number is the best of
its rounds. The columns `work` are per second of processor time, which a busy machine changes less than the clock.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np

SIDE = 256
CHUNK = 64


def filters() -> dict[str, dict[str, Any]]:
    return {
        "none": {},
        "gzip": {"compression": "gzip", "compression_opts": 4},
        "gzip-shuffle": {"compression": "gzip", "compression_opts": 4, "shuffle": True},
        "lzf": {"compression": "lzf"},
        "lz4": dict(hdf5plugin.LZ4()),
        "lz4-shuffle": {**hdf5plugin.LZ4(), "shuffle": True},
        "zstd": dict(hdf5plugin.Zstd()),
        "blosc-lz4": dict(hdf5plugin.Blosc(cname="lz4", shuffle=1)),
        "blosc-zstd": dict(hdf5plugin.Blosc(cname="zstd", shuffle=1)),
        "blosc2-lz4": dict(hdf5plugin.Blosc2(cname="lz4", filters=1)),
        "bitshuffle-lz4": dict(hdf5plugin.Bitshuffle(cname="lz4")),
    }


def volume() -> np.ndarray[Any, Any]:
    """Smooth values with some noise in their lower bits, as measurements have."""
    rng = np.random.default_rng(1)
    axis = np.linspace(0, 6, SIDE, dtype="f4")
    smooth = np.sin(axis)[:, None, None] * np.cos(axis)[None, :, None] + axis[None, None, :]
    noise = rng.integers(0, 64, smooth.shape, dtype="i4")
    return (np.round(smooth * 4096) * 64 + noise).astype("f4") / 4096


def binary() -> Path:
    command = [
        "cargo",
        "build",
        "--quiet",
        "--release",
        "-p",
        "infeed-hdf5",
        "--example",
        "compare",
        "--message-format=json",
    ]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    found = [json.loads(line).get("executable") for line in lines]
    return Path(next(path for path in found if path))


def ours(compare: Path, path: Path, name: str, threads: int) -> tuple[float, float]:
    out = subprocess.run([compare, path, name, str(threads), "2"], check=True, capture_output=True, text=True).stdout
    clock, work, *_ = out.split()
    return float(clock), float(work)


def theirs(path: Path, name: str) -> tuple[float, float]:
    best = work = 0.0
    with h5py.File(path) as file:
        dataset = file[name]
        out = np.empty(dataset.shape, dataset.dtype)
        for _ in range(2):
            begun, worked = time.perf_counter(), time.process_time()
            dataset.read_direct(out)
            work = max(work, out.nbytes / (time.process_time() - worked) / 1e9)
            best = max(best, out.nbytes / (time.perf_counter() - begun) / 1e9)
    return best, work


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", type=Path, help="a binary that is there already")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+")
    args = parser.parse_args()
    compare = args.compare or binary()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "volume.h5"
        data = volume()
        chosen = {name: options for name, options in filters().items() if not args.only or name in args.only}
        with h5py.File(path, "w") as file:
            for name, options in chosen.items():
                file.create_dataset(name, data=data, chunks=(CHUNK,) * 3, **options)
            sizes = {name: file[name].id.get_storage_size() for name in chosen}
        heads = [
            "packed",
            "h5py",
            "1 thread",
            "2 threads",
            "1 : h5py",
            "2 : h5py",
            "h5py work",
            "1 work",
            "work ratio",
        ]
        print(f"{'filter':<16}" + "".join(f"{head:>11}" for head in heads))
        for name in chosen:
            best = np.zeros((3, 2))
            for _ in range(args.rounds):
                turn = [theirs(path, name), ours(compare, path, name, 1), ours(compare, path, name, 2)]
                best = np.maximum(best, turn)
            (h5, h5_work), (one, one_work), (two, _) = best
            row = [data.nbytes / sizes[name], h5, one, two, one / h5, two / h5, h5_work, one_work, one_work / h5_work]
            print(f"{name:<16}" + "".join(f"{number:>11.2f}" for number in row), flush=True)


if __name__ == "__main__":
    main()
