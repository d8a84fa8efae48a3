#!/usr/bin/env python3
"""Compares `infeed-hdf5` with h5py on files that h5py writes: types x layouts x filters x shapes x library versions.

`scripts/hdf5_matrix.py` builds the example `dump`, writes the files into a temporary folder and prints how many data
sets agree. `--dump PATH` takes a binary that is there already; `--keep FOLDER` keeps the files; `--versions latest` takes
fewer versions.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np

VERSIONS = ["earliest", "v108", "v110", "v112", "v114", "v200", "latest"]
SHAPES = [(7,), (1000,), (5, 7), (40, 33), (11, 13, 9), (3, 4, 5, 6)]
NUMBERS = [order + kind for order in "<>" for kind in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8")] + [
    "i1",
    "u1",
]


def filters() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every filter with some of its settings, by name."""
    yield "plain", {}
    yield "gzip", {"compression": "gzip"}
    yield "gzip9-shuffle", {"compression": "gzip", "compression_opts": 9, "shuffle": True}
    yield "gzip-shuffle-fletcher", {"compression": "gzip", "shuffle": True, "fletcher32": True}
    yield "lzf", {"compression": "lzf"}
    yield "lzf-shuffle", {"compression": "lzf", "shuffle": True}
    yield "fletcher", {"fletcher32": True}
    yield "shuffle", {"shuffle": True}
    yield "lz4", dict(hdf5plugin.LZ4())
    yield "lz4-small-blocks", dict(hdf5plugin.LZ4(nbytes=64))
    yield "lz4-shuffle", {**hdf5plugin.LZ4(), "shuffle": True}
    yield "zstd", dict(hdf5plugin.Zstd())
    yield "bzip2", dict(hdf5plugin.BZip2())
    for name in ("none", "lz4", "zstd"):
        yield f"bitshuffle-{name}", dict(hdf5plugin.Bitshuffle(cname=name))
    yield "bitshuffle-16", dict(hdf5plugin.Bitshuffle(nelems=16, cname="lz4"))
    for name, shuffle in itertools.product(("blosclz", "lz4", "lz4hc", "zlib", "zstd"), (0, 1, 2)):
        yield f"blosc-{name}-{shuffle}", dict(hdf5plugin.Blosc(cname=name, clevel=5, shuffle=shuffle))
    for name, shuffle in itertools.product(("blosclz", "lz4", "lz4hc", "zlib", "zstd"), (0, 1, 2)):
        yield f"blosc2-{name}-{shuffle}", dict(hdf5plugin.Blosc2(cname=name, clevel=5, filters=shuffle))


def values(dtype: np.dtype[Any], shape: tuple[int, ...], seed: int = 0) -> np.ndarray[Any, Any]:
    """Numbers that compress somewhat, with some that do not."""
    rng = np.random.default_rng([seed, dtype.itemsize, len(shape), *shape])
    count = int(np.prod(shape, dtype=np.int64))
    smooth = np.arange(count) // 3 + rng.integers(0, 4, count)
    if dtype.kind == "f":
        found = (smooth / 7 - count / 20).astype(dtype)
    elif dtype.kind == "b":
        found = smooth % 3 == 0
    else:
        found = (smooth - (count // 2 if dtype.kind == "i" else 0)).astype(np.int64).astype(dtype)
        found[:: max(1, count // 9)] = rng.integers(0, 100)
    return found.reshape(shape)


def low(
    group: h5py.Group, name: str, data: np.ndarray[Any, Any], prepare: Callable[[Any], None], tid: Any = None
) -> None:
    """A data set with properties that only the low-level interface has."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    prepare(properties)
    space = h5py.h5s.create_simple(data.shape)
    tid = tid or h5py.h5t.py_create(data.dtype, logical=True)
    made = h5py.h5d.create(group.id, name.encode(), tid, space, properties)
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(data))


def types(file: h5py.File) -> None:
    """Every type in every layout."""
    group = file.create_group("types")
    record = np.dtype(
        {
            "names": ["a", "b", "s", "deep", "grid"],
            "formats": ["i2", ">f4", "S5", np.dtype([("x", ">u2"), ("flag", "?")]), (">i4", (2, 3))],
        }
    )
    named: dict[str, np.dtype[Any]] = {kind: np.dtype(kind) for kind in NUMBERS}
    named["bool"] = np.dtype("?")
    named["enum"] = h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 42}, basetype=">i2")
    for name, dtype in named.items():
        for shape in [(), (6,), (5, 7), (4, 3, 5)]:
            data = values(dtype, shape)
            if name == "enum":
                data = np.array([0, 1, 42], ">i2")[np.arange(data.size) % 3].reshape(shape)
            key = f"{name}-{'x'.join(map(str, shape)) or 'scalar'}"
            group.create_dataset(f"contiguous-{key}", data=data, dtype=dtype)
            if shape:
                chunk = tuple(max(1, n // 2 + 1) for n in shape)
                layouts(group, key, data, dtype, chunk)
    odd(group, record)


def layouts(group: h5py.Group, key: str, data: np.ndarray[Any, Any], dtype: Any, chunk: tuple[int, ...]) -> None:
    """One array in every layout of chunks, and compact."""
    first: tuple[int | None, ...] = (None, *data.shape[1:])
    last: tuple[int | None, ...] = (*data.shape[:-1], None)
    group.create_dataset(f"chunked-{key}", data=data, dtype=dtype, chunks=chunk)
    group.create_dataset(f"single-{key}", data=data, dtype=dtype, chunks=data.shape)
    group.create_dataset(f"single-gzip-{key}", data=data, dtype=dtype, chunks=data.shape, compression="gzip")
    group.create_dataset(f"first-{key}", data=data, dtype=dtype, chunks=chunk, maxshape=first)
    group.create_dataset(f"last-{key}", data=data, dtype=dtype, chunks=chunk, maxshape=last, compression="gzip")
    if data.ndim > 1:
        every = (None,) * data.ndim
        group.create_dataset(f"every-{key}", data=data, dtype=dtype, chunks=chunk, maxshape=every)
        group.create_dataset(
            f"every-lzf-{key}", data=data, dtype=dtype, chunks=chunk, maxshape=every, compression="lzf"
        )
    larger = tuple(n * 2 + 1 for n in data.shape)
    group.create_dataset(f"larger-{key}", data=data, dtype=dtype, chunks=chunk, maxshape=larger)
    group.create_dataset(
        f"larger-gzip-{key}", data=data, dtype=dtype, chunks=chunk, maxshape=larger, compression="gzip"
    )
    if data.dtype.kind in "iufb" and dtype.metadata is None:
        low(group, f"compact-{key}", data, lambda plist: plist.set_layout(h5py.h5d.COMPACT))

        def implicit(plist: Any) -> None:
            plist.set_chunk(chunk)
            plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)

        low(group, f"implicit-{key}", data, implicit)


def odd(group: h5py.Group, record: np.dtype[Any]) -> None:
    """Types that are not plain numbers."""
    data = np.zeros((6, 4), record)
    data["a"] = np.arange(24).reshape(6, 4)
    data["b"] = data["a"] * 1.5
    data["s"] = [[b"", b"ab", b"hello", b"x"]] * 6
    data["deep"]["x"] = 60000 - data["a"].astype("i4")
    data["deep"]["flag"] = data["a"] % 2 == 0
    data["grid"] = np.arange(144).reshape(6, 4, 2, 3)
    for name, options in [("plain", {}), ("gzip", {"chunks": (4, 3), "compression": "gzip", "shuffle": True})]:
        group.create_dataset(f"compound-{name}", data=data, **options)
        group.create_dataset(f"complex-{name}", data=values(np.dtype("f4"), (6, 4)) * (1 + 2j), **options)
        group.create_dataset(f"bytes-{name}", data=np.array([[b"", b"a", b"bcd", b"efghi"]] * 6), **options)
        texts = np.array([["", "a", "größe", "x" * 300]] * 6, object)
        group.create_dataset(f"texts-{name}", data=texts, dtype=h5py.string_dtype(), **options)
        group.create_dataset(f"opaque-{name}", data=np.arange(120, dtype="u1").view("V5").reshape(6, 4), **options)
    group.create_dataset("utf8-fixed", data=np.array([b"ab", "ö".encode()], h5py.string_dtype(length=6)))
    pairs = group.create_dataset("array", (5,), np.dtype((">i4", (2, 3))))
    pairs[:] = values(np.dtype(">i4"), (5, 2, 3))
    group["named"] = np.dtype([("p", "<f8"), ("q", ">i4")])
    group.create_dataset("of-named", data=np.ones(3, group["named"].dtype), dtype=group["named"])
    bits = h5py.h5t.STD_B16BE.copy()
    low(group, "bits", values(np.dtype(">u2"), (5,)), lambda plist: None, bits)
    spaces = h5py.h5t.C_S1.copy()
    spaces.set_size(6)
    spaces.set_strpad(h5py.h5t.STR_SPACEPAD)
    low(group, "spaces", np.array([b"ab    ", b"      ", b"abcdef"]), lambda plist: None, spaces)
    brain = h5py.h5t.IEEE_F32LE.copy()
    brain.set_fields(15, 7, 8, 0, 7)
    brain.set_precision(16)
    brain.set_size(2)
    brain.set_ebias(127)
    low(group, "brain", values(np.dtype("<f4"), (5, 7)), lambda plist: None, brain)
    group.create_dataset("null", data=h5py.Empty("f4"))


def filtered(file: h5py.File) -> None:
    """Every filter over types and shapes."""
    group = file.create_group("filters")
    for (name, options), kind, shape in itertools.product(filters(), ("u1", ">i2", "<f4", "<f8"), SHAPES):
        data = values(np.dtype(kind), shape)
        chunk = tuple(max(1, (n + 1) // 2) for n in shape)
        key = f"{name}-{kind.strip('<>')}-{'x'.join(map(str, shape))}"
        group.create_dataset(key, data=data, chunks=chunk, **options)
    noise = np.random.default_rng(3)
    for name, options in filters():
        group.create_dataset(f"noise-{name}", data=noise.integers(0, 256, (50, 60), "u1"), chunks=(20, 60), **options)
        group.create_dataset(f"zeros-{name}", data=np.zeros((50, 60), "<i8"), chunks=(20, 25), **options)
        record = np.zeros(300, [("a", "<f4"), ("b", "<i8"), ("c", "u1")])
        record["b"] = np.arange(300)
        group.create_dataset(f"record-{name}", data=record, chunks=(77,), **options)
    large = values(np.dtype("<f4"), (300, 1000))
    for name, options in filters():
        group.create_dataset(f"large-{name}", data=large, chunks=(100, 1000), **options)
    for kind, digits in itertools.product(("<i4", ">i2", "<u8", "i1", "<u2"), (0, 9)):
        group.create_dataset(
            f"scale-{kind.strip('<>')}-{digits}",
            data=values(np.dtype(kind), (40, 33)) % 100,
            chunks=(20, 20),
            scaleoffset=digits,
        )
    for kind, digits in itertools.product(("<f4", ">f8"), (1, 4)):
        data = np.round(values(np.dtype(kind), (40, 33)), 1)
        group.create_dataset(f"scale-{kind.strip('<>')}-{digits}", data=data, chunks=(20, 20), scaleoffset=digits)
    filled = group.create_dataset("scale-fill", (40, 33), "<i4", chunks=(20, 20), scaleoffset=0, fillvalue=-7)
    filled[5:25, 3:30] = values(np.dtype("<i4"), (20, 27))
    for precision, shift, source in [
        (17, 4, h5py.h5t.STD_I32LE),
        (9, 0, h5py.h5t.STD_U16BE),
        (33, 11, h5py.h5t.STD_I64BE),
    ]:
        tid = source.copy()
        tid.set_precision(precision)
        tid.set_offset(shift)
        data = values(np.dtype("<i8"), (30, 20)) % 400
        memory = np.ascontiguousarray(data.astype("<i8"))
        for name, chunk in [("nbit", (10, 20)), ("bits", (10, 20))]:
            properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            properties.set_chunk(chunk)
            if name == "nbit":
                h5py.h5z.filter_avail(h5py.h5z.FILTER_NBIT)
                properties.set_filter(h5py.h5z.FILTER_NBIT, 0)
            space = h5py.h5s.create_simple(data.shape)
            made = h5py.h5d.create(group.id, f"{name}-{precision}".encode(), tid, space, properties)
            made.write(h5py.h5s.ALL, h5py.h5s.ALL, memory)


def special(file: h5py.File) -> None:
    """What is written in parts, or not at all, or in large numbers."""
    group = file.create_group("special")
    sparse = group.create_dataset("sparse", (100, 100), "<f4", chunks=(10, 10), compression="gzip", fillvalue=2.5)
    sparse[12:30, 77:90] = 1
    group.create_dataset("never", (30, 4), ">i4", chunks=(7, 4), fillvalue=-3)
    group.create_dataset("never-contiguous", (30, 4), ">i4", fillvalue=-3)
    group.create_dataset("nothing", (0, 4), "<i4", chunks=(5, 4), maxshape=(None, 4))
    for name, maximum in [("tree", (None, None)), ("array", (None, 50)), ("fixed", (200, 50))]:
        grown = group.create_dataset(
            f"grown-{name}", (10, 50), "<i2", chunks=(7, 9), maxshape=maximum, compression="lzf"
        )
        grown[:] = values(np.dtype("<i2"), (10, 50))
        grown.resize(60, 0)
        grown[55:] = 9
        shrunk = group.create_dataset(f"shrunk-{name}", (60, 50), "<i2", chunks=(7, 9), maxshape=maximum)
        shrunk[:] = values(np.dtype("<i2"), (60, 50))
        shrunk.resize(20, 0)
        partial = group.create_dataset(
            f"partial-{name}", (60, 50), "<i2", chunks=(7, 9), maxshape=maximum, fillvalue=5
        )
        partial[20:22, 3:40] = 1
    masked = group.create_dataset("masked", (40,), "<i4", chunks=(10,), compression="gzip", shuffle=True)
    masked[:] = np.arange(40)
    masked.id.write_direct_chunk((10,), np.arange(10, dtype="<i4").tobytes(), filter_mask=3)
    masked.id.write_direct_chunk((20,), zlib.compress(np.arange(10, dtype="<i4").tobytes()), filter_mask=1)
    group.create_dataset("pages", data=np.arange(5000, dtype="<i2"), chunks=(3,))
    group.create_dataset("pages-gzip", data=np.arange(5000, dtype="<i2"), chunks=(3,), compression="gzip")
    holes = group.create_dataset("pages-holes", (9000,), "<i2", chunks=(2,))
    holes[4000:4010] = 3
    group.create_dataset("growing", data=np.arange(9000, dtype="<i2"), chunks=(3,), maxshape=(None,))
    group.create_dataset(
        "growing-gzip", data=np.arange(9000, dtype="<i2"), chunks=(3,), maxshape=(None,), compression="gzip"
    )
    group.create_dataset(
        "deep", data=np.arange(20000, dtype="<i2").reshape(200, 100), chunks=(2, 3), maxshape=(None, None)
    )
    crowd = group.create_group("crowd")
    for number in range(500):
        crowd[f"a name that is somewhat long, so that heaps have several blocks {number}"] = np.int32(number)
    decorated = group.create_dataset("decorated", data=[1, 2, 3])
    for number in range(60):
        decorated.attrs[f"number {number}"] = number * 1.5
    decorated.attrs["text"] = "größe"
    decorated.attrs["bytes"] = np.bytes_(b"abc")
    decorated.attrs["list"] = np.array([1, -2, 3], ">i8")
    decorated.attrs["texts"] = ["a", "bc"]
    file["soft"] = h5py.SoftLink("/special/pages")
    file["hard"] = group["sparse"]


def library() -> ctypes.CDLL:
    """The library that h5py has loaded, for what h5py has no functions for."""
    found = sorted(Path(h5py.__file__).parent.parent.glob("h5py.libs/libhdf5-*.so*"))
    return ctypes.CDLL(str(found[0]))


def bare(file: h5py.File) -> None:
    """Chunks at the edges that are stored without their filters."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((10, 10))
    plist.set_deflate(4)
    if library().H5Pset_chunk_opts(ctypes.c_int64(plist.id), 2) < 0:
        raise RuntimeError("H5Pset_chunk_opts")
    data = values(np.dtype("<i4"), (33, 24))
    for name, maximum in [
        ("fixed", None),
        ("growing", (h5py.h5s.UNLIMITED, 24)),
        ("every", (h5py.h5s.UNLIMITED,) * 2),
    ]:
        made = h5py.h5d.create(
            file.id, name.encode(), h5py.h5t.STD_I32LE, h5py.h5s.create_simple(data.shape, maximum), plist
        )
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, data)


def many(file: h5py.File) -> None:
    """So many chunks that the blocks of an extensible array have pages, some of which were never written."""
    small = file.create_dataset(
        "small", (300_000,), "u1", chunks=(2,), maxshape=(None,), compression="lzf", fillvalue=9
    )
    small[:1000] = 1
    small[262_100:264_000] = 2
    small[299_000:] = 3
    file.create_dataset("fixed", data=np.arange(20_000, dtype="<u2"), chunks=(2,), compression="gzip")
    file["small"].attrs["large"] = np.arange(20_000)


def shared(folder: Path, version: str) -> Path:
    """A file whose messages are kept once for all objects."""
    path, plist = folder / f"shared-{version}.h5", h5py.h5p.create(h5py.h5p.FILE_CREATE)
    made = library().H5Pset_shared_mesg_nindexes(ctypes.c_int64(plist.id), 2)
    made += library().H5Pset_shared_mesg_index(ctypes.c_int64(plist.id), 0, 0x0F, 4)
    made += library().H5Pset_shared_mesg_index(ctypes.c_int64(plist.id), 1, 0x10, 4)
    if made < 0:
        raise RuntimeError("H5Pset_shared_mesg_index")
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(*[h5py.h5f.LIBVER_LATEST if version == "latest" else h5py.h5f.LIBVER_V18] * 2)
    with h5py.File(h5py.h5f.create(str(path).encode(), h5py.h5f.ACC_TRUNC, plist, access)) as file:
        for number in range(40):
            data = values(np.dtype(">i4"), (12, 10), number)
            one = file.create_dataset(
                f"d{number}", data=data, chunks=(5, 5), compression="gzip", fillvalue=number % 3
            )
            one.attrs["units"], one.attrs["offset"] = "a unit with a long name", np.arange(6) + number % 2
    return path


def refused(file: h5py.File) -> None:
    """What must be named and not read."""
    group = file.create_group("refused")
    group["reference"] = np.array([file["special"].ref, file.ref], h5py.ref_dtype)
    lists = group.create_dataset("lists", (3,), h5py.vlen_dtype(np.int32))
    lists[0] = [1, 2, 3]
    group["outside"] = h5py.ExternalLink("other.h5", "/x")
    group.create_dataset("long double", data=np.ones(3, np.longdouble))
    layout = h5py.VirtualLayout((10,), "<i4")
    layout[:] = h5py.VirtualSource("other.h5", "x", (10,))
    if file.libver[1] not in ("earliest", "v108"):
        group.create_virtual_dataset("virtual", layout)


REFUSED = {"/refused/reference", "/refused/lists", "/refused/long double", "/refused/virtual"}


def written(folder: Path, version: str) -> Iterator[Path]:
    """The files of one library version."""
    libver = version if version in ("earliest", "latest") else (version, version)
    for name, fill in [("types", types), ("filters", filtered)]:
        path = folder / f"{name}-{version}.h5"
        with h5py.File(path, "w", libver=libver) as file:
            fill(file)
        yield path
    path = folder / f"special-{version}.h5"
    with h5py.File(path, "w", libver=libver, userblock_size=1024, track_order=True) as file:
        special(file)
        refused(file)
    yield path
    if version in ("v108", "latest"):
        yield shared(folder, version)
    if version not in ("earliest", "v108"):
        for name, fill in [("bare", bare), ("many", many)]:
            path = folder / f"{name}-{version}.h5"
            with h5py.File(path, "w", libver=libver) as file:
                fill(file)
            yield path
        return  # HDF5 2.0 cannot read its own unlimited shapes with lengths of 4 bytes.
    plist = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    plist.set_sizes(4, 4)
    path = folder / f"narrow-{version}.h5"
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    h5py.h5f.create(str(path).encode(), h5py.h5f.ACC_TRUNC, plist, access).close()
    with h5py.File(path, "a", libver=libver) as file:
        special(file)
    yield path


def checksums(path: Path) -> dict[str, int]:
    """What h5py reads of every data set."""
    found: dict[str, int] = {}

    def leaves(name: str, data: Any) -> None:
        dtype = data.dtype
        if dtype.names:
            for field in dtype.names:
                leaves(f"{name}.{field}", data[field])
        elif dtype.kind == "c":
            leaves(f"{name}.r", data.real)
            leaves(f"{name}.i", data.imag)
        elif dtype.kind in "SO":
            found[name] = zlib.crc32(b"".join(bytes(text) + b"\0" for text in data.ravel()))
        else:
            found[name] = zlib.crc32(np.ascontiguousarray(data.astype(dtype.newbyteorder("="))).tobytes())

    def visit(name: str, thing: Any) -> None:
        path = f"/{name}"
        if not isinstance(thing, h5py.Dataset) or path in REFUSED:
            return
        if thing.shape is None:
            found[path] = zlib.crc32(b"")
        else:
            if path == "/types/brain":
                found[path] = zlib.crc32((np.asarray(thing[()], "<f4").view("<u4") >> 16).astype("<u2").tobytes())
                return
            leaves(path, np.asarray(thing[()]) if path != "/types/spaces" else np.char.rstrip(thing[()]))

    with h5py.File(path) as file:
        file.visititems(visit)
        for name in ("soft", "hard", "special/sparse"):
            if name in file:
                visit(name, file[name])
    return found


def attributes(path: Path) -> dict[tuple[str, str], str]:
    """Numbers that h5py reads as attributes, as the example prints them."""
    found: dict[tuple[str, str], str] = {}

    def visit(name: str, thing: Any) -> None:
        for key, value in thing.attrs.items():
            if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "iuf":
                numbers = np.atleast_1d(value).astype("f8" if value.dtype.kind == "f" else "O")
                found[f"/{name}", key] = str([float(n) if value.dtype.kind == "f" else int(n) for n in numbers])

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def compare(dump: Path, path: Path) -> tuple[int, list[str]]:
    """How many data sets agree, and what does not."""
    lines = subprocess.run([dump, path], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split("\t") for line in lines]
    ours = {row[1]: int(row[2], 16) for row in rows if row[0] == "sum"}
    errors = {row[1]: row[2] for row in rows if row[0].endswith("-error")}
    theirs = checksums(path)
    wrong = [
        f"{path.name}: {name}: {errors.get(name, 'differs')}" for name, sum in theirs.items() if ours.get(name) != sum
    ]
    extra = set(ours) - set(theirs)
    wrong += [f"{path.name}: {name} is read, but should be refused or is not there" for name in sorted(extra)]
    wrong += [f"{path.name}: {line}" for line in lines if line.startswith(("error", "attributes-error"))]
    shown = {(row[1], row[2]): row[3] for row in rows if row[0] == "attribute"}
    wrong += [f"{path.name}: attribute {key}" for key, value in attributes(path).items() if shown.get(key) != value]
    wrong += [
        f"{path.name}: {name}: {what}" for name, what in errors.items() if name not in REFUSED and name not in theirs
    ]
    return len(theirs), wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dump", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--versions", nargs="+", default=VERSIONS)
    args = parser.parse_args()
    dump = args.dump
    if dump is None:
        build = ["cargo", "build", "--quiet", "-p", "infeed-hdf5", "--example", "dump", "--message-format=json"]
        made = subprocess.run(build, check=True, capture_output=True, text=True).stdout
        found = [json.loads(line).get("executable") for line in made.splitlines()]
        dump = Path(next(path for path in found if path))
    total, wrong = 0, []
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for version in args.versions:
            for path in written(folder, version):
                count, bad = compare(dump, path)
                print(f"{path.name}: {count} data sets, {len(bad)} differ", flush=True)
                total += count
                wrong += bad
    print("\n".join(wrong[:60]))
    print(f"{total} data sets compared, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
