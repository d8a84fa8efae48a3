#!/usr/bin/env python3
"""Compares `infeed-root` with uproot on files that it writes, with trees and n-tuples.

Types x shapes x compressions x sizes of baskets and clusters.

`scripts/root_matrix.py` builds the example `dump`, writes the files into a temporary folder and prints how many columns
agree. `--dump PATH` takes a binary that is there already.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import uproot

KINDS = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
SHAPES: list[tuple[int, ...]] = [(), (3,), (2, 3)]
PACKED = {
    "none": None,
    "zlib": uproot.ZLIB(1),
    "lz4": uproot.LZ4(1),
    "zstd": uproot.ZSTD(1),
    "lzma": uproot.LZMA(1),
}
# Entries of each basket.
BASKETS = {"one": [1], "few": [7], "parts": [5, 1, 60, 34], "many": [1000, 1000, 500]}


def numbers(kind: str, shape: tuple[int, ...], seed: int) -> np.ndarray[Any, Any]:
    """Numbers that differ."""
    count = int(np.prod(shape, dtype=np.int64))
    values = np.arange(count) * 37 % 251 + seed
    if kind == "?":
        return (values % 3 == 0).reshape(shape)
    return (values / 7 if kind[0] == "f" else values % 120).astype(kind).reshape(shape)


def columns(entries: int, seed: int) -> dict[str, Any]:
    """Every kind of column that uproot can write."""
    out: dict[str, Any] = {}
    for kind in KINDS:
        safe = "b1" if kind == "?" else kind
        for shape in SHAPES:
            out[f"x_{safe}_{len(shape)}"] = numbers(kind, (entries, *shape), seed)
        counts = (np.arange(entries) * 7 + seed) % 5
        out[f"j_{safe}"] = ak.unflatten(numbers(kind, (int(counts.sum()),), seed), counts)
    out["text"] = ak.Array([("é" if n % 3 else "x") * (n * 5 % 300) for n in range(entries)])
    return out


def kind_of(column: Any) -> Any:
    """What uproot calls the type of a column."""
    return column.type.content if isinstance(column, ak.Array) else (column.dtype, column.shape[1:])


def written(folder: Path) -> Iterator[tuple[Path, dict[tuple[str, str], tuple[int, int]]]]:
    """Files, and the checksums of what was written into them."""
    for name, pack in PACKED.items():
        for size, parts in BASKETS.items():
            path = folder / f"{name}-{size}.root"
            with uproot.recreate(path, compression=pack) as file:
                for tree in ("t", "deep/er/t"):
                    for seed, entries in enumerate(parts):
                        made = columns(entries, seed)
                        if seed == 0:
                            file.mktree(tree, {name: kind_of(column) for name, column in made.items()})
                        file[tree].extend(made)
                # The entries of a cluster, as those of a basket.
                for seed, entries in enumerate(parts):
                    made = columns(entries, seed) | records(entries, seed)
                    if seed == 0:
                        file.mkrntuple("deep/n", made)
                    else:
                        file["deep/n"].extend(made)
            yield path, sums(path)


def records(entries: int, seed: int) -> dict[str, Any]:
    """Records, and lists of them: what n-tuples alone can hold."""
    counts = (np.arange(entries) * 3 + seed) % 4
    flat = {kind: numbers(kind, (int(counts.sum()),), seed) for kind in ("i2", "f8")}
    return {
        "r": ak.zip({kind: numbers(kind, (entries,), seed) for kind in ("u4", "f4")}),
        "l": ak.unflatten(ak.zip(flat), counts),
    }


def sums(path: Path) -> dict[tuple[str, str], tuple[int, int]]:
    """The checksums of what uproot reads: of the elements, and of where entries end."""
    out = {}
    with uproot.open(path) as file:
        for tree in ("t", "deep/er/t", "deep/n"):
            for name, branch in file[tree].items():
                array = branch.array()
                if "{" in str(array.type):
                    # Its members are fields of their own.
                    continue
                ends = b""
                if array.ndim == 2 and isinstance(array.type.content, ak.types.ListType):
                    flat = ak.to_numpy(ak.flatten(array))
                    lengths = ak.to_numpy(ak.num(array)) * flat.dtype.itemsize
                    ends = np.cumsum(lengths).astype("<u4").tobytes()
                elif "string" in str(array.type):
                    texts = [text.encode() for text in array.to_list()]
                    flat = np.frombuffer(b"".join(texts), "u1")
                    ends = np.cumsum([len(text) for text in texts]).astype("<u4").tobytes()
                else:
                    flat = ak.to_numpy(array)
                out[tree, name] = (zlib.crc32(np.ascontiguousarray(flat).tobytes()), zlib.crc32(ends))
    return out


def binary() -> Path:
    """Builds the example."""
    command = ["cargo", "build", "--quiet", "-p", "infeed-root", "--example", "dump", "--message-format=json"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    found = [json.loads(line).get("executable") for line in lines]
    return Path(next(path for path in found if path))


def main() -> int:
    """Compares and counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dump", type=Path, help="a binary that is there already")
    args = parser.parse_args()
    dump = args.dump or binary()
    compared, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for path, sums in written(Path(folder)):
            lines = subprocess.run([dump, path], check=True, capture_output=True, text=True).stdout.splitlines()
            rows = [line.split("\t") for line in lines]
            found = {(row[1], row[2]): row[4:] for row in rows if row[0] == "sum"}
            wrong += [f"{path.name}: {row}" for row in rows if row[0].endswith("error") or row[0] == "refused"]
            wrong += [f"{path.name}: {key} was not written" for key in found.keys() - sums.keys()]
            for key, (data, ends) in sums.items():
                compared += 1
                if found.get(key) != [f"{data:08x}", f"{ends:08x}"]:
                    wrong.append(f"{path.name}: {key}: {found.get(key)} and not {data:08x} {ends:08x}")
    print("\n".join(wrong[:40]))
    print(f"{compared} compared, {len(wrong)} differ")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
