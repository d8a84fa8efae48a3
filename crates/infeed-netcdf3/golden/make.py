#!/usr/bin/env python3
"""Makes the files of this folder with netCDF4, and the checksums that `tests/golden.rs` expects."""

import zlib
from pathlib import Path

import netCDF4
import numpy as np

HERE = Path(__file__).parent


def main() -> None:
    lines = []
    for name, version in (("NETCDF3_CLASSIC", 1), ("NETCDF3_64BIT_OFFSET", 2), ("NETCDF3_64BIT_DATA", 5)):
        with netCDF4.Dataset(HERE / f"v{version}.nc", "w", format=name) as file:
            file.title = "größe"
            for dimension, size in (("time", None), ("x", 5), ("y", 3)):
                file.createDimension(dimension, size)
            grid = np.arange(15).reshape(5, 3)
            data = {
                "fixed": (grid.astype("f4") / 7, ("x", "y")),
                "small": ((np.arange(20) % 120).astype("i1").reshape(4, 5), ("time", "x")),
                "wide": ((np.arange(60) / 3).reshape(4, 5, 3), ("time", "x", "y")),
                "text": (np.array([b"a", b"b", b"c"], "S1"), ("y",)),
                "one": (np.array(-7, "i4"), ()),
            }
            if version == 5:
                data["large"] = (np.arange(12, dtype="u8").reshape(4, 3) + 2**63, ("time", "y"))
            for key, (array, dimensions) in data.items():
                file.createVariable(key, array.dtype, dimensions)[...] = array
                lines.append(f"v{version}.nc {key} {zlib.crc32(np.ascontiguousarray(array).tobytes()):08x}")
            file["wide"].setncatts({"scale_factor": 0.5, "valid_range": np.array([-3, 9], "i2")})
    (HERE / "sums.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
