#!/usr/bin/env python3
"""Compares `infeed-netcdf3` with netCDF4 and SciPy on files that they write: versions x types x shapes x records.

`scripts/netcdf3_matrix.py` builds the example `dump`, writes the files into a temporary folder and prints how many
variables agree. `--dump PATH` takes a binary that is there already.
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

import netCDF4
import numpy as np
from scipy.io import netcdf_file

FORMATS = {"NETCDF3_CLASSIC": 1, "NETCDF3_64BIT_OFFSET": 2, "NETCDF3_64BIT_DATA": 5}
SHAPES = [(), (7,), (5, 3), (4, 3, 5), (2, 3, 1, 4)]


def values(dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Numbers that differ."""
    count = int(np.prod(shape, dtype=np.int64))
    numbers = np.arange(count) * 37 % 120
    if dtype.kind == "S":
        return np.array([bytes([65 + n % 26]) for n in numbers], "S1").reshape(shape)
    return (numbers / 7 - 5 if dtype.kind == "f" else numbers).astype(dtype).reshape(shape)


def kinds(version: int) -> list[str]:
    """Types that a version knows."""
    return ["i1", "S1", "i2", "i4", "f4", "f8"] + (["u1", "u2", "u4", "i8", "u8"] if version == 5 else [])


def written(folder: Path) -> Iterator[tuple[Path, dict[str, int]]]:
    """Files, and the checksums of what was written into them."""
    for (name, version), many in ((pair, many) for pair in FORMATS.items() for many in (0, 1, 2)):
        path, sums = folder / f"{name}-{many}.nc", {}
        with netCDF4.Dataset(path, "w", format=name) as file:
            file.set_auto_mask(False)
            file.createDimension("time", None)
            file.setncatts({"title": "größe", "numbers": np.array([1, -2, 3], "i2"), "factor": 0.5})
            for size in (1, 2, 3, 4, 5, 7):
                file.createDimension(f"d{size}", size)
            for kind, shape in ((kind, shape) for kind in kinds(version) for shape in SHAPES):
                names = tuple(f"d{n}" for n in shape)
                data = values(np.dtype(kind), shape)
                made = file.createVariable(f"fixed-{kind}-{len(shape)}", kind, names)
                made[...] = data
                made.units = "K"
                sums[made.name] = checksum(data)
                # Records: none, of one variable alone (which is not filled up), of all.
                if many == 0 or (many == 1 and (kind, shape) != ("i2", (5, 3))):
                    continue
                records = values(np.dtype(kind), (6, *shape))
                made = file.createVariable(f"record-{kind}-{len(shape)}", kind, ("time", *names))
                made[...] = records
                sums[made.name] = checksum(records)
        yield path, sums
    for version in (1, 2):
        path, sums = folder / f"scipy-{version}.nc", {}
        with netcdf_file(path, "w", version=version) as file:
            file.createDimension("t", None)
            file.createDimension("x", 5)
            for kind in ("i1", "i2", "i4", "f4", "f8"):
                data = values(np.dtype(kind), (9, 5))
                file.createVariable(f"r{kind}", kind, ("t", "x"))[:] = data
                sums[f"r{kind}"] = checksum(data)
        yield path, sums


def checksum(data: np.ndarray[Any, Any]) -> int:
    """Of the bytes in this machine's order."""
    return zlib.crc32(np.ascontiguousarray(data).tobytes())


def binary() -> Path:
    """Builds the example."""
    command = ["cargo", "build", "--quiet", "-p", "infeed-netcdf3", "--example", "dump", "--message-format=json"]
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
            found = {row[1]: row[2] for row in rows if row[0].startswith("sum")}
            if path.name.startswith("NETCDF3"):
                notes = {(row[1], row[2]): row[3] for row in rows if row[0] == "attribute"}
                own = {name: notes.get(("/", name)) for name in ("title", "numbers", "factor")}
                if own != {"title": '"größe"', "numbers": "[1, -2, 3]", "factor": "[0.5]"}:
                    wrong.append(f"{path.name}: attributes {own}")
            wrong += [f"{path.name}: {name} was not written" for name in found.keys() - sums.keys()]
            for name, value in sums.items():
                compared += 1
                if found.get(name) != f"{value:08x}":
                    wrong.append(f"{path.name}: {name}: {found.get(name)} and not {value:08x}")
    print("\n".join(wrong[:40]))
    print(f"{compared} compared, {len(wrong)} differ")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
