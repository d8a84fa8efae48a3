#!/usr/bin/env python3
"""Compares `infeed-zarr` with zarr-python on stores that zarr-python writes: types x chunks x codecs x shapes x versions.

`scripts/zarr_matrix.py` builds the example `dump`, writes the stores into a temporary folder and prints how many arrays
agree. `--dump PATH` takes a binary that is there already; `--keep FOLDER` keeps the stores.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import subprocess
import sys
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numcodecs
import numcodecs.zarr3 as n3
import numpy as np
import zarr
from zarr.codecs import (
    BloscCodec,
    BytesCodec,
    Crc32cCodec,
    GzipCodec,
    ShardingCodec,
    TransposeCodec,
    ZstdCodec,
)

NUMBERS = [order + kind for order in "<>" for kind in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8")] + [
    "i1",
    "u1",
    "?",
    "<c8",
    ">c16",
]
TEXTS = ["S1", "S5", "<U4", ">U3", "V6", "<M8[ns]", ">M8[D]", "<m8[10s]"]
SHAPES = [(7,), (1000,), (5, 7), (40, 33), (11, 13, 9), (3, 4, 5, 6)]
RECORD = np.dtype([("a", "<i4"), ("b", ">f4", (2,)), ("c", [("d", "S3"), ("e", ">U2")]), ("f", "?")])


def values(dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Values that compress somewhat, with some that do not."""
    rng = np.random.default_rng([dtype.itemsize, len(shape), *shape])
    count = int(np.prod(shape, dtype=np.int64))
    smooth = np.arange(count) // 3 + rng.integers(0, 4, count)
    if dtype.names:
        found = np.zeros(count, dtype)
        for name in dtype.names:
            base = dtype[name].base
            found[name] = values(base, (count, *dtype[name].shape))
    elif dtype.kind == "f":
        found = (smooth / 7 - count / 20).astype(dtype)
    elif dtype.kind == "c":
        found = (smooth / 7 - 1j * smooth).astype(dtype)
    elif dtype.kind == "b":
        found = smooth % 3 == 0
    elif dtype.kind in "SU":
        found = np.array([str(n)[: n % 6] for n in smooth]).astype(dtype)
    elif dtype.kind == "V":
        found = rng.integers(0, 9, count * dtype.itemsize, "u1").view(dtype)
    elif dtype.kind in "Mm":
        found = smooth.astype(dtype)
    else:
        found = (smooth - (count // 2 if dtype.kind == "i" else 0)).astype(np.int64).astype(dtype)
        found[:: max(1, count // 9)] = rng.integers(0, 100)
    return np.ascontiguousarray(found).reshape(shape)


def half(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(max(1, n // 2 + 1) for n in shape)


def key(*parts: Any) -> str:
    text = "-".join("x".join(map(str, part)) or "scalar" if isinstance(part, tuple) else str(part) for part in parts)
    return text.replace("<", "le").replace(">", "be").replace("?", "bool").replace("[", "_").replace("]", "")


def blosc() -> Iterator[tuple[str, int]]:
    yield from itertools.product(("blosclz", "lz4", "lz4hc", "zlib", "zstd"), (0, 1, 2))


def compressors2() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {
        "none": {"compressors": None},
        "gzip": {"compressors": numcodecs.GZip(5)},
        "zlib": {"compressors": numcodecs.Zlib(6)},
        "zstd": {"compressors": numcodecs.Zstd(3)},
        "zstd-sum": {"compressors": numcodecs.Zstd(3, checksum=True)},
        "lz4": {"compressors": numcodecs.LZ4()},
        "bz2": {"compressors": numcodecs.BZ2()},
        "crc32": {"compressors": numcodecs.CRC32()},
        "crc32c": {"compressors": numcodecs.CRC32C()},
        "adler32": {"compressors": numcodecs.Adler32()},
        "fletcher32": {"compressors": numcodecs.Fletcher32()},
    }
    for name, shuffle in blosc():
        found[f"blosc-{name}-{shuffle}"] = {"compressors": numcodecs.Blosc(name, 5, shuffle)}
    return found


def compressors3() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {
        "none": {"compressors": None},
        "gzip": {"compressors": GzipCodec(level=5)},
        "zstd": {"compressors": ZstdCodec(level=3)},
        "zstd-sum": {"compressors": ZstdCodec(level=3, checksum=True)},
        "crc32c": {"compressors": Crc32cCodec()},
        "gzip-crc32c": {"compressors": [GzipCodec(level=1), Crc32cCodec()]},
        "n-zlib": {"compressors": n3.Zlib(level=6)},
        "n-lz4": {"compressors": n3.LZ4()},
        "n-bz2": {"compressors": n3.BZ2()},
        "n-zstd": {"compressors": n3.Zstd(level=2)},
        "n-gzip": {"compressors": n3.GZip(level=2)},
        "n-blosc": {"compressors": n3.Blosc(cname="lz4", clevel=5, shuffle=1)},
        "n-shuffle-zlib": {"compressors": [n3.Shuffle(elementsize=4), n3.Zlib(level=1)]},
        "n-crc32": {"compressors": n3.CRC32()},
        "n-adler32": {"compressors": n3.Adler32()},
        "n-fletcher32": {"compressors": n3.Fletcher32()},
    }
    names = {0: "noshuffle", 1: "shuffle", 2: "bitshuffle"}
    for name, shuffle in blosc():
        found[f"blosc-{name}-{shuffle}"] = {"compressors": BloscCodec(cname=name, clevel=5, shuffle=names[shuffle])}
    return found


def types(group: zarr.Group) -> None:
    """Every type, compressed and not, in several shapes."""
    for kind, shape in itertools.product(NUMBERS + TEXTS, [(), (6,), (5, 7), (4, 3, 5)]):
        if kind == "V6" and shape == ():
            continue  # zarr-python cannot write a single one of these.
        data = values(np.dtype(kind), shape)
        for name, options in [("plain", {"compressors": None}), ("usual", {})]:
            if group.metadata.zarr_format == 3 and kind.startswith(">") and kind[1] != "U":
                options = {**options, "serializer": BytesCodec(endian="big")}
            made = group.create_array(
                key(name, kind, shape), shape=shape, chunks=half(shape), dtype=data.dtype, **options
            )
            made[...] = data


def codecs(group: zarr.Group, known: dict[str, dict[str, Any]]) -> None:
    """Every codec over types and shapes."""
    for (name, options), kind, shape in itertools.product(known.items(), ("u1", "<i2", "<f4", "<f8"), SHAPES):
        if name == "n-shuffle-zlib" and np.dtype(kind).itemsize < 4:
            continue  # The codec takes whole elements of 4 bytes alone.
        made = group.create_array(key(name, kind, shape), shape=shape, chunks=half(shape), dtype=kind, **options)
        made[...] = values(np.dtype(kind), shape)
    noise = np.random.default_rng(3)
    large = values(np.dtype("<f4"), (300, 1000))
    for name, options in known.items():
        group.create_array(f"noise-{name}", data=noise.integers(0, 256, (50, 60), "u1"), chunks=(20, 60), **options)
        group.create_array(f"ones-{name}", data=np.ones((50, 60), "<i8"), chunks=(20, 25), **options)
        group.create_array(f"large-{name}", data=large, chunks=(100, 1000), **options)


def numbers2() -> dict[str, tuple[str, list[Any]]]:
    """Filters of version 2 over numbers, by name, with the type of the array."""
    return {
        "delta": ("<i4", [numcodecs.Delta("<i4")]),
        "delta-big": (">i4", [numcodecs.Delta(">i4")]),
        "delta-narrow": ("<i8", [numcodecs.Delta("<i8", astype="<i2")]),
        "delta-f4": ("<f4", [numcodecs.Delta("<f4")]),
        "delta-f2": ("<f2", [numcodecs.Delta("<f2")]),
        "delta-u1": ("u1", [numcodecs.Delta("u1")]),
        "scale": ("<f8", [numcodecs.FixedScaleOffset(offset=3, scale=10, dtype="<f8", astype="<i4")]),
        "scale-f4": ("<f4", [numcodecs.FixedScaleOffset(offset=-1.5, scale=7.5, dtype="<f4", astype="<i2")]),
        "scale-delta": (
            "<f8",
            [numcodecs.FixedScaleOffset(offset=0, scale=100, dtype="<f8", astype="<i8"), numcodecs.Delta("<i8")],
        ),
        "quantize": ("<f8", [numcodecs.Quantize(digits=2, dtype="<f8")]),
        "quantize-narrow": ("<f8", [numcodecs.Quantize(digits=2, dtype="<f8", astype="<f4")]),
        "bitround": ("<f4", [numcodecs.BitRound(8)]),
        "astype": ("<f8", [numcodecs.AsType("<f4", "<f8")]),
        "astype-int": ("<i8", [numcodecs.AsType("<i4", "<i8")]),
        "shuffle": ("<f4", [numcodecs.Shuffle(4)]),
        "packbits": ("?", [numcodecs.PackBits()]),
        "zlib-shuffle": ("<f4", [numcodecs.Shuffle(4), numcodecs.Zlib(1)]),
    }


def numbers3() -> dict[str, tuple[str, list[Any]]]:
    return {
        "delta": ("<i4", [n3.Delta(dtype="<i4")]),
        "delta-f4": ("<f4", [n3.Delta(dtype="<f4")]),
        "scale": ("<f8", [n3.FixedScaleOffset(offset=3, scale=10, dtype="<f8", astype="<i4")]),
        "quantize": ("<f8", [n3.Quantize(digits=2, dtype="<f8")]),
        "bitround": ("<f4", [n3.BitRound(keepbits=8)]),
        "astype": ("<f8", [n3.AsType(encode_dtype="<f4", decode_dtype="<f8")]),
    }


def filtered(group: zarr.Group, known: dict[str, tuple[str, list[Any]]]) -> None:
    for (name, (kind, filters)), shape in itertools.product(known.items(), [(100,), (20, 33), (5, 6, 7)]):
        for end in ("plain", "usual"):
            options: dict[str, Any] = {"compressors": None} if end == "plain" else {}
            made = group.create_array(
                key(name, end, shape), shape=shape, chunks=half(shape), dtype=kind, filters=filters, **options
            )
            made[...] = values(np.dtype(kind), shape)
            if name.startswith("delta") and group.metadata.zarr_format == 2:
                made = group.create_array(
                    key(name, end, "F", shape),
                    shape=shape,
                    chunks=half(shape),
                    dtype=kind,
                    filters=filters,
                    order="F",
                    **options,
                )
                made[...] = values(np.dtype(kind), shape)


def fills(group: zarr.Group) -> None:
    """Fill values: chunks that were never written."""
    nan = float("nan")
    cases: list[tuple[str, Any]] = [
        ("<f4", nan),
        (">f8", float("inf")),
        ("<f8", float("-inf")),
        ("<f8", 0.1),
        ("<f4", 1e-40),
    ]
    cases += [
        ("<f2", 1.5),
        ("<i8", -(2**63)),
        ("<u8", 2**64 - 1),
        (">i2", -3),
        ("?", True),
        ("i1", -128),
        ("<c16", 1 - 2j),
    ]
    cases += [
        ("<c8", complex(nan, 3)),
        ("S5", b"abc"),
        ("<U4", "größ"),
        (">U3", "xyz"),
        ("<M8[s]", np.datetime64(77, "s")),
    ]
    for number, (kind, fill) in enumerate(cases):
        made = group.create_array(f"{number}-{key(kind)}", shape=(9, 8), chunks=(4, 3), dtype=kind, fill_value=fill)
        made[5:7, 2:7] = values(np.dtype(kind), (2, 5))
        group.create_array(f"never-{number}-{key(kind)}", shape=(5,), chunks=(2,), dtype=kind, fill_value=fill)
    group.create_array("nothing", shape=(0, 4), chunks=(2, 3), dtype="<i4")


def layouts2(group: zarr.Group) -> None:
    for (separator, order), shape, kind in itertools.product(
        itertools.product("./", "CF"), SHAPES, ("<f4", ">i8", "u1")
    ):
        made = group.create_array(
            key("dot" if separator == "." else "slash", order, kind, shape),
            shape=shape,
            chunks=half(shape),
            dtype=kind,
            order=order,
            chunk_key_encoding={"name": "v2", "separator": separator},
        )
        made[...] = values(np.dtype(kind), shape)
    flat = np.dtype([("a", "<i4"), ("b", ">f4"), ("c", "S3"), ("d", ">i8")])
    for name, options in [("plain", {"compressors": None}), ("usual", {})]:
        made = group.create_array(f"record-{name}", shape=(30, 5), chunks=(7, 5), dtype=flat, **options)
        made[...] = values(flat, (30, 5))


def records(folder: Path) -> None:
    """Structures with arrays and structures inside, as zarr-python 2 wrote them; 3.1 neither writes nor reads them."""
    folder.mkdir()
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    record(folder, "plain")
    record(folder, "packed")


def record(group: Path, name: str) -> None:
    folder = group / name
    folder.mkdir()
    fill = values(RECORD, (3,))[2:]
    meta = {
        "zarr_format": 2,
        "shape": [30, 5],
        "chunks": [7, 5],
        "dtype": json.loads(json.dumps(RECORD.descr)),
        "compressor": None if name == "plain" else {"id": "zlib", "level": 1},
        "filters": None,
        "order": "C",
        "fill_value": base64.b64encode(fill.tobytes()).decode(),
    }
    (folder / ".zarray").write_text(json.dumps(meta))
    data = values(RECORD, (35, 5))
    for number in range(4):
        raw = data[number * 7 : number * 7 + 7].tobytes()
        (folder / f"{number}.0").write_bytes(raw if name == "plain" else zlib.compress(raw))
    np.save(folder / "expected.npy", np.concatenate([data[:28], np.broadcast_to(fill, (2, 5))]))


def layouts3(group: zarr.Group) -> None:
    encodings = [("default", "/"), ("default", "."), ("v2", "."), ("v2", "/")]
    for (name, separator), shape in itertools.product(encodings, [(), *SHAPES]):
        made = group.create_array(
            key(name, "dot" if separator == "." else "slash", shape),
            shape=shape,
            chunks=half(shape),
            dtype="<f4",
            chunk_key_encoding={"name": name, "separator": separator},
        )
        made[...] = values(np.dtype("<f4"), shape)
    for order, kind, endian in itertools.product(
        itertools.permutations(range(3)), ("<f4", "u1", "<f8", "<c16"), ("little", "big")
    ):
        made = group.create_array(
            key("transpose", order, kind, endian),
            shape=(21, 34, 18),
            chunks=(10, 18, 17),
            dtype=kind,
            filters=[TransposeCodec(order=order)],
            serializer=BytesCodec(endian=endian),
        )
        made[...] = values(np.dtype(kind), (21, 34, 18))
    plain = np.dtype([("a", "<i4"), ("b", "<f2"), ("c", "S3")])
    made = group.create_array("record", shape=(30, 5), chunks=(7, 5), dtype=plain)
    made[...] = values(plain, (30, 5))


def shards(group: zarr.Group) -> None:
    """Shards: inside and outside codecs, places of the index, nests, and holes."""
    inner = {
        "plain": [BytesCodec()],
        "big": [BytesCodec(endian="big")],
        "zstd": [BytesCodec(), ZstdCodec(level=1)],
        "blosc": [BytesCodec(), BloscCodec(cname="lz4", shuffle="shuffle", typesize=4)],
        "crc": [BytesCodec(), GzipCodec(level=1), Crc32cCodec()],
        "turned": [TransposeCodec(order=(1, 0)), BytesCodec(), ZstdCodec(level=1)],
    }
    indices = {
        "usual": [BytesCodec(endian="little"), Crc32cCodec()],
        "bare": [BytesCodec(endian="little")],
        "big": [BytesCodec(endian="big"), Crc32cCodec()],
    }
    for (name, codecs), (index, index_codecs), where, kind in itertools.product(
        inner.items(), indices.items(), ("start", "end"), ("<f4", "<i2", "u1")
    ):
        serializer = ShardingCodec(chunk_shape=(5, 4), codecs=codecs, index_codecs=index_codecs, index_location=where)
        for shape, end in [((33, 41), "whole"), ((60, 48), "holes")]:
            made = group.create_array(
                key(name, index, where, kind, end),
                shape=shape,
                chunks=(20, 16),
                dtype=kind,
                fill_value=3,
                serializer=serializer,
                compressors=None,
            )
            if end == "whole":
                made[...] = values(np.dtype(kind), shape)
            else:
                made[12:27, 7:22] = values(np.dtype(kind), (15, 15))
    nested = ShardingCodec(
        chunk_shape=(10, 8), codecs=[ShardingCodec(chunk_shape=(5, 4), codecs=[BytesCodec(), ZstdCodec()])]
    )
    around = ShardingCodec(chunk_shape=(10, 8), codecs=[BytesCodec(), GzipCodec()])
    turned = ShardingCodec(chunk_shape=(4, 2), codecs=[BytesCodec(), ZstdCodec()])
    cases: list[tuple[str, dict[str, Any]]] = [
        ("nested", {"serializer": nested, "compressors": None}),
        ("compressed", {"serializer": around, "compressors": ZstdCodec()}),
        ("summed", {"serializer": around, "compressors": Crc32cCodec()}),
        ("turned", {"serializer": turned, "compressors": None, "filters": [TransposeCodec(order=(1, 0))]}),
    ]
    for (name, options), kind in itertools.product(cases, ("<f4", "<i8", "u1")):
        for shape, end in [((33, 41), "whole"), ((60, 48), "holes")]:
            made = group.create_array(
                key(name, kind, end), shape=shape, chunks=(20, 16), dtype=kind, fill_value=3, **options
            )
            if end == "whole":
                made[...] = values(np.dtype(kind), shape)
            else:
                made[12:27, 7:22] = values(np.dtype(kind), (15, 15))
    made = group.create_array("easy", shape=(50, 60, 7), shards=(20, 30, 7), chunks=(10, 10, 7), dtype="<f4")
    made[...] = values(np.dtype("<f4"), (50, 60, 7))


def refused(group: zarr.Group) -> None:
    """What must be named and not read."""
    made = group.create_array(
        "texts", shape=(3,), chunks=(2,), dtype="T" if hasattr(np.dtypes, "StringDType") else str
    )
    made[:] = np.array(["a", "bc", ""], dtype=made.dtype)
    lzma = numcodecs.LZMA() if group.metadata.zarr_format == 2 else n3.LZMA()
    group.create_array("lzma", data=np.arange(9), chunks=(3,), compressors=lzma)


def decorated(group: zarr.Group) -> None:
    """Names of axes, attributes, groups in groups."""
    group.attrs.update({"title": "größe \U0001f600", "list": [1, -2.5, None, True], "map": {"a": {"b": []}}})
    deep = group.create_group("deep/er")
    extra: dict[str, Any] = {"dimension_names": ["time", None]} if group.metadata.zarr_format == 3 else {}
    made = deep.create_array("named", data=np.arange(12, dtype="<i2").reshape(3, 4), chunks=(2, 2), **extra)
    made.attrs["scale_factor"] = 0.5
    if group.metadata.zarr_format == 2:
        made.attrs["_ARRAY_DIMENSIONS"] = ["time", "x"]


Fill = Callable[[zarr.Group], None]


def stores(folder: Path) -> Iterator[Path]:
    """All stores: folders with and without consolidated metadata."""
    parts: dict[int, dict[str, Fill]] = {
        2: {
            "types": types,
            "codecs": lambda group: codecs(group, compressors2()),
            "numbers": lambda group: filtered(group, numbers2()),
            "fills": fills,
            "layouts": layouts2,
            "refused": refused,
            "decorated": decorated,
        },
        3: {
            "types": types,
            "codecs": lambda group: codecs(group, compressors3()),
            "numbers": lambda group: filtered(group, numbers3()),
            "fills": fills,
            "layouts": layouts3,
            "shards": shards,
            "refused": refused,
            "decorated": decorated,
        },
    }
    for version, fillers in parts.items():
        for name, fill in fillers.items():
            path = folder / f"{name}-{version}"
            fill(zarr.create_group(str(path), zarr_format=version))  # type: ignore[arg-type]
            if name in ("fills", "decorated", "codecs"):
                zarr.consolidate_metadata(str(path))
            yield path
        if version == 2:
            records(folder / "records-2")
            yield folder / "records-2"


def checksums(path: Path) -> dict[str, int]:
    """What zarr-python reads of every array."""
    found: dict[str, int] = {}

    def leaves(name: str, data: Any) -> None:
        if data.dtype.names:
            for field in data.dtype.names:
                leaves(f"{name}.{field}", data[field])
        elif data.dtype.kind == "c":
            leaves(f"{name}.r", data.real)
            leaves(f"{name}.i", data.imag)
        else:
            found[name] = zlib.crc32(np.ascontiguousarray(data.astype(data.dtype.newbyteorder("="))).tobytes())

    if path.name == "records-2":
        for expected in path.glob("*/expected.npy"):
            leaves(f"/{expected.parent.name}", np.load(expected))
        return found
    group = zarr.open_group(str(path), mode="r")
    for name in sorted(list_arrays(group)):
        if name.startswith(("texts", "lzma")):
            found[f"/{name}"] = -1
        else:
            leaves(f"/{name}", np.asarray(group[name][...], group[name].dtype))
    return found


def list_arrays(group: zarr.Group) -> Iterator[str]:
    for name, thing in group.members(max_depth=None):
        if isinstance(thing, zarr.Array):
            yield name


def ours(dump: Path, path: Path) -> tuple[dict[str, str], list[str]]:
    lines = subprocess.run([dump, path], check=True, capture_output=True, text=True).stdout.splitlines()
    found = {}
    for line in lines:
        kind, *rest = line.split("\t")
        if kind in ("sum", "sum-error", "array-error"):
            found[rest[0]] = rest[1]
    return found, lines


def binary() -> Path:
    command = ["cargo", "build", "--quiet", "-p", "infeed-zarr", "--example", "dump", "--message-format=json"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    found = [json.loads(line).get("executable") for line in lines]
    return Path(next(path for path in found if path))


def notes(lines: list[str], path: Path) -> list[str]:
    """What is wrong with attributes and names of axes."""
    if not path.name.startswith("decorated"):
        return []
    group = zarr.open_group(str(path), mode="r")
    found = {
        tuple(line.split("\t")[1:3]): json.loads(line.split("\t")[3])
        for line in lines
        if line.startswith("attribute")
    }
    wanted = {("/", name): value for name, value in group.attrs.items()}
    wanted |= {("/deep/er/named", name): value for name, value in group["deep/er/named"].attrs.items()}
    wrong = [f"{path.name}: attributes {found} and not {wanted}"] if found != wanted else []
    names = next(line.split("\t")[5] for line in lines if line.startswith("array\t/deep/er/named"))
    if names != ('[Some("time"), None]' if path.name.endswith("3") else '[Some("time"), Some("x")]'):
        wrong.append(f"{path.name}: axes {names}")
    if {line for line in lines if line.startswith("group")} != {"group\t/", "group\t/deep", "group\t/deep/er"}:
        wrong.append(f"{path.name}: groups")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dump", type=Path, help="a binary that is there already")
    parser.add_argument("--keep", type=Path, help="a folder for the stores, which are kept")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    dump = args.dump or binary()
    compared, wrong = 0, []
    with tempfile.TemporaryDirectory() as temporary:
        for path in stores(args.keep or Path(temporary)):
            theirs = checksums(path)
            found, lines = ours(dump, path)
            wrong += notes(lines, path)
            wrong += [f"{path.name}{name}: nobody asked for it" for name in found.keys() - theirs.keys()]
            for name, value in theirs.items():
                compared += 1
                own = found.get(name, "missing")
                if value == -1:
                    if not any(word in own for word in ("codec `lzma`", "codec `numcodecs.lzma`", "data type")):
                        wrong.append(f"{path.name}{name}: should have been refused by name: {own}")
                elif own != f"{value:08x}":
                    wrong.append(f"{path.name}{name}: {own} and not {value:08x}")
            print(f"{path.name}: {len(theirs)} arrays and fields", flush=True)
    print("\n".join(wrong[:60]))
    print(f"{compared} compared, {len(wrong)} differ")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
