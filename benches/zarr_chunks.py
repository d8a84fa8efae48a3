"""Reading chunked Zarr: the crate `infeed-zarr` with one and two threads against zarr-python, in turns.

`python benches/zarr_chunks.py` writes a volume of 64 MB (float32) once per codec, has every reader read all of it a few
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

import numcodecs
import numpy as np
import zarr
from zarr.codecs import BloscCodec, GzipCodec, TransposeCodec, ZstdCodec

from hdf5_chunks import CHUNK, volume


def codecs() -> dict[str, tuple[int, dict[str, Any]]]:
    """Names, versions of the format, and settings."""
    blosc = BloscCodec(cname="lz4", shuffle="shuffle")
    side = 4 * CHUNK
    return {
        "none": (3, {"compressors": None}),
        "blosc-lz4": (3, {"compressors": blosc}),
        "blosc-lz4-bits": (3, {"compressors": BloscCodec(cname="lz4", shuffle="bitshuffle")}),
        "blosc-zstd": (3, {"compressors": BloscCodec(cname="zstd", shuffle="shuffle")}),
        "zstd": (3, {"compressors": ZstdCodec(level=3)}),
        "gzip": (3, {"compressors": GzipCodec(level=4)}),
        "lz4-v2": (2, {"compressors": numcodecs.LZ4()}),
        "turned": (3, {"compressors": blosc, "filters": [TransposeCodec(order=(2, 1, 0))]}),
        "shards": (3, {"compressors": blosc, "shards": (side, side, side)}),
    }


def binary() -> Path:
    """Builds the example."""
    command = ["cargo", "build", "--quiet", "--release", "-p", "infeed-zarr", "--example", "compare"]
    lines = subprocess.run([*command, "--message-format=json"], check=True, capture_output=True, text=True).stdout
    found = [json.loads(line).get("executable") for line in lines.splitlines()]
    return Path(next(path for path in found if path))


def ours(compare: Path, path: Path, name: str, threads: int) -> tuple[float, float]:
    """GB per second by the clock and by processor time."""
    out = subprocess.run([compare, path, name, str(threads), "2"], check=True, capture_output=True, text=True).stdout
    clock, work, *_ = out.split()
    return float(clock), float(work)


def theirs(array: zarr.Array[Any]) -> tuple[float, float]:
    """The same of zarr-python, which uses threads of its own."""
    best = work = 0.0
    for _ in range(2):
        begun, worked = time.perf_counter(), time.process_time()
        size = array[...].nbytes
        work = max(work, size / (time.process_time() - worked) / 1e9)
        best = max(best, size / (time.perf_counter() - begun) / 1e9)
    return best, work


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", type=Path, help="a binary that is there already")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+")
    args = parser.parse_args()
    compare = args.compare or binary()
    chosen = {name: how for name, how in codecs().items() if not args.only or name in args.only}
    heads = ["zarr", "1 thread", "2 threads", "1 : zarr", "2 : zarr", "zarr work", "1 work", "work ratio"]
    with tempfile.TemporaryDirectory() as folder:
        data = volume()
        print(f"{'codec':<16}" + "".join(f"{head:>11}" for head in heads))
        for name, (version, options) in chosen.items():
            path = Path(folder) / f"v{version}"
            group = zarr.open_group(path, zarr_format=version)  # type: ignore[arg-type]
            array = group.create_array(name, data=data, chunks=(CHUNK,) * 3, **options)
            best = np.zeros((3, 2))
            for _ in range(args.rounds):
                turn = [theirs(array), ours(compare, path, name, 1), ours(compare, path, name, 2)]
                best = np.maximum(best, turn)
            (peer, peer_work), (one, one_work), (two, _) = best
            row = [peer, one, two, one / peer, two / peer, peer_work, one_work, one_work / peer_work]
            print(f"{name:<16}" + "".join(f"{number:>11.2f}" for number in row), flush=True)


if __name__ == "__main__":
    main()
