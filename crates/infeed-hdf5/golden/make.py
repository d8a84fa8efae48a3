#!/usr/bin/env python3
"""Makes the files of this folder with h5py and hdf5plugin, and the checksums that `tests/golden.rs` expects."""

import zlib
from pathlib import Path

import h5py
import hdf5plugin
import numpy as np

HERE = Path(__file__).parent


def fill(file: h5py.File) -> None:
    grid = (np.arange(60) ** 2 % 251).reshape(10, 6)
    coarse = (
        grid // 60
    )  # Small chunks of anything else are stored without their filter, because it makes them larger.
    file.create_dataset(
        "tree", data=grid.astype(">i4"), chunks=(4, 4), compression="gzip", shuffle=True, fletcher32=True
    )
    file.create_dataset("growing", data=coarse.astype("<f4"), chunks=(3, 6), maxshape=(None, 6), compression="lzf")
    file.create_dataset("both", data=grid.astype("<u2"), chunks=(3, 5), maxshape=(None, None))
    file.create_dataset("one", data=grid.astype("<f8"), chunks=(10, 6), **hdf5plugin.Zstd())
    file.create_dataset("lz4", data=coarse.astype("<i8"), chunks=(5, 6), **hdf5plugin.LZ4())
    file.create_dataset(
        "blosc",
        data=np.tile(coarse, (20, 1)).astype("<i4"),
        chunks=(100, 6),
        **hdf5plugin.Blosc(cname="blosclz", shuffle=1),
    )
    file.create_dataset(
        "blosc2", data=coarse.astype("<i4"), chunks=(5, 6), **hdf5plugin.Blosc2(cname="lz4", filters=2)
    )
    file.create_dataset("bits", data=coarse.astype("<i2"), chunks=(5, 6), **hdf5plugin.Bitshuffle(cname="lz4"))
    file.create_dataset("digits", data=np.round(grid / 8, 2).astype("<f4"), chunks=(5, 6), scaleoffset=3)
    sparse = file.create_dataset("sparse", (10, 6), "<f4", chunks=(2, 3), fillvalue=1.5)
    sparse[4:6, 1:5] = 7
    file.create_dataset("plain", data=grid.astype("<f2"))
    record = np.zeros(4, [("a", "i1"), ("b", ">f4", (2,)), ("c", [("d", "S3")])])
    record["a"], record["b"] = [1, -2, 3, -4], np.arange(8).reshape(4, 2) / 2
    record["c"]["d"] = [b"", b"x", b"yz", b"abc"]
    file["record"] = record
    file["texts"] = ["", "a", "größe"]
    file["deep/er/bool"] = np.array([True, False, True])
    file["soft"] = h5py.SoftLink("/deep/er/bool")
    file["outside"] = h5py.ExternalLink("other.h5", "/x")
    scale = file["tree"]
    scale.attrs["scale_factor"] = np.float32(0.5)
    scale.attrs["units"] = "K"
    scale.attrs["range"] = np.array([-1, 200], ">i2")
    rows = file.create_dataset("rows", data=np.arange(10, dtype="<f8"))
    rows.make_scale("rows")
    scale.dims[0].attach_scale(rows)
    for name in ("tree", "growing", "one", "lz4", "blosc"):
        assert file[name].id.get_chunk_info(0).filter_mask == 0, name
    file["references"] = np.array([file["tree"].ref], h5py.ref_dtype)


def sums(path: Path) -> list[str]:
    found = []

    def leaves(name: str, data: np.ndarray) -> None:
        if data.dtype.names:
            for field in data.dtype.names:
                leaves(f"{name}.{field}", data[field])
        elif data.dtype.kind in "SO":
            found.append((name, zlib.crc32(b"".join(bytes(text) + b"\0" for text in data.ravel()))))
        else:
            native = np.ascontiguousarray(data.astype(data.dtype.newbyteorder("=")))
            found.append((name, zlib.crc32(native.tobytes())))

    with h5py.File(path) as file:
        file.visititems(
            lambda name, thing: (
                leaves(name, thing[()]) if isinstance(thing, h5py.Dataset) and name != "references" else None
            )
        )
    return [f"{path.name} {name} {value:08x}" for name, value in sorted(found)]


def main() -> None:
    lines = []
    for version in ("earliest", "v110", "latest"):
        path = HERE / f"{version}.h5"
        with h5py.File(path, "w", libver=version if version != "v110" else ("v110", "v110")) as file:
            fill(file)
        lines += sums(path)
    (HERE / "sums.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
