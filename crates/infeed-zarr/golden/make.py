#!/usr/bin/env python3
"""Makes the files of this folder with zarr-python, and the checksums that `tests/golden.rs` expects.

A store is written into one file: for each object a line with its length and its key, then its bytes.
"""

import zlib
from pathlib import Path
from typing import Any

import numcodecs
import numcodecs.zarr3 as n3
import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec
from zarr.storage import MemoryStore

HERE = Path(__file__).parent
GRID = (np.arange(60) ** 2 % 251).reshape(10, 6)


def second(group: zarr.Group) -> None:
    def add(name: str, data: Any, chunks: tuple[int, ...], **options: Any) -> zarr.Array[Any]:
        return group.create_array(name, data=data, chunks=chunks, **options)

    add("plain", GRID.astype(">i4"), (4, 4), compressors=None)
    add("blosc", np.tile(GRID, (20, 1)).astype("<i4"), (100, 6), compressors=numcodecs.Blosc("lz4", 5, 1))
    add("bits", np.tile(GRID // 60, (20, 1)).astype("<i2"), (50, 6), compressors=numcodecs.Blosc("zstd", 5, 2))
    add("turned", GRID.astype("<f8"), (4, 5), order="F", compressors=numcodecs.Zlib(5))
    add("delta", GRID.astype("<i4"), (5, 6), filters=[numcodecs.Delta("<i4", "<i2")], compressors=numcodecs.LZ4())
    nested = {"name": "v2", "separator": "/"}
    add("deep/er/slashed", GRID.astype("u1"), (3, 5), chunk_key_encoding=nested, compressors=numcodecs.BZ2())
    sparse = group.create_array("sparse", shape=(10, 6), chunks=(2, 3), dtype="<f4", fill_value=float("nan"))
    sparse[4:6, 1:5] = 7
    record = np.zeros(4, [("a", "i1"), ("b", ">f4"), ("c", "S3")])
    record["a"], record["b"], record["c"] = [1, -2, 3, -4], np.arange(4) / 2, [b"", b"x", b"yz", b"abc"]
    add("record", record, (3,), compressors=numcodecs.Zstd(1))
    group["plain"].attrs["_ARRAY_DIMENSIONS"] = ["time", "x"]


def third(group: zarr.Group) -> None:
    def add(name: str, kind: str, chunks: tuple[int, ...], **options: Any) -> None:
        group.create_array(name, shape=(10, 6), chunks=chunks, dtype=kind, fill_value=1, **options)[...] = GRID

    add("plain", "<i4", (4, 4), serializer=BytesCodec(endian="big"), compressors=None, dimension_names=["time", "x"])
    add("blosc", "<i4", (10, 6), compressors=BloscCodec(cname="zstd", shuffle="bitshuffle"))
    add("turned", "<f8", (4, 5), filters=[TransposeCodec(order=(1, 0))], compressors=[GzipCodec(), Crc32cCodec()])
    add("named", "<f4", (5, 6), compressors=n3.Zlib(level=5))
    inner = ShardingCodec(chunk_shape=(2, 3), codecs=[BytesCodec(), ZstdCodec()], index_location="start")
    add("shards", "<u2", (4, 6), serializer=inner, compressors=None)
    add("nested", "<u2", (8, 6), serializer=ShardingCodec(chunk_shape=(4, 6), codecs=[inner]), compressors=None)
    add("packed", "<u2", (8, 6), serializer=inner, compressors=ZstdCodec())
    holes = group.create_array(
        "deep/er/holes", shape=(10, 6), shards=(4, 6), chunks=(2, 3), dtype="<f4", fill_value=2.5
    )
    holes[5:7, 4:5] = 7


def packed(store: MemoryStore) -> bytes:
    objects = [(key, value.to_bytes()) for key, value in sorted(store._store_dict.items())]
    return b"".join(f"{len(data)} {key}\n".encode() + data for key, data in objects)


def sums(name: str, group: zarr.Group) -> list[str]:
    found = []
    for path, array in sorted(group.members(max_depth=None)):
        if isinstance(array, zarr.Array):
            data = np.asarray(array[...])
            fields = {f".{field}": data[field] for field in data.dtype.names} if data.dtype.names else {"": data}
            for field, part in fields.items():
                native = np.ascontiguousarray(part.astype(part.dtype.newbyteorder("=")))
                found.append(f"{name} /{path}{field} {zlib.crc32(native.tobytes()):08x}")
    return found


def main() -> None:
    lines = []
    for version, fill in ((2, second), (3, third)):
        store = MemoryStore()
        group = zarr.create_group(store, zarr_format=version)  # type: ignore[arg-type]
        fill(group)
        group.attrs["title"] = "größe"
        lines += sums(f"v{version}", group)
        (HERE / f"v{version}.store").write_bytes(packed(store))
        zarr.consolidate_metadata(store)
        (HERE / f"v{version}-consolidated.store").write_bytes(packed(store))
    (HERE / "sums.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
