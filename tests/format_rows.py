"""Small data sets in row formats, and compressed ones, which are streams."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import itertools
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from format_cases import PARTS, Made, Row, case, parts, records
from format_writers import example, safetensors_bytes, tfrecords, write_mds

import infeed


def json_lines(rows: list[Row]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=i % 2 == 0) + "\n" for i, row in enumerate(rows)).encode()


def csv_text(rows: list[Row], delimiter: str = ",") -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def lines() -> list[Row]:
    return [{"text": row["text"].replace("\n", " ")} for row in records()]


def text_lines(rows: list[Row]) -> bytes:
    return "".join(f"{row['text']}\n" for row in rows).encode()


def saved(folder: Path, rows: list[Row], encode: Callable[[list[Row]], bytes], suffix: str) -> list[Path]:
    """The parts of a set, each encoded to bytes."""
    paths = [folder / f"part-{k}{suffix}" for k in range(len(PARTS))]
    for path, some in zip(paths, parts(rows), strict=True):
        path.write_bytes(encode(some))
    return paths


@case("jsonl")
def jsonl(folder: Path) -> Made:
    rows = [{**row, "meta": {"n": i, "tags": ["a", str(i)]}} for i, row in enumerate(records())]
    return Made(infeed.jsonl(saved(folder, rows, json_lines, ".jsonl")), rows, "text")


@case("csv")
def comma(folder: Path) -> Made:
    return Made(infeed.csv(saved(folder, records(), csv_text, ".csv")), records(), "score")


@case("csv table")
def comma_table(folder: Path) -> Made:
    """As a matrix: numbers only."""
    rows = [{"features": [row["score"]], "id": row["id"]} for row in records()]
    paths = saved(folder, records(), csv_text, ".csv")
    return Made(infeed.table(paths, features=["score"], label="id", dtype="float64"), rows, "id")


@case("tsv")
def tab(folder: Path) -> Made:
    return Made(infeed.csv(saved(folder, records(), lambda r: csv_text(r, "\t"), ".tsv")), records(), "id")


@case("text by line")
def text_by_line(folder: Path) -> Made:
    return Made(infeed.text(saved(folder, lines(), text_lines, ".txt")), lines(), "text")


@case("text by paragraph")
def text_by_paragraph(folder: Path) -> Made:
    rows = [{"text": f"{row['text']}\nand a second line"} for row in lines()]
    paths = saved(folder, rows, lambda some: "\n\n".join(r["text"] for r in some).encode(), ".txt")
    return Made(infeed.text(paths, by="paragraph"), rows, "text")


@case("text by file")
def text_by_file(folder: Path) -> Made:
    rows = [{"text": row["text"]} for row in records()]
    paths = [folder / f"{i:03d}.txt" for i in range(len(rows))]
    for path, row in zip(paths, rows, strict=True):
        path.write_bytes(row["text"].encode())
    return Made(infeed.text(paths, by="file"), rows, "text")


def blobs() -> list[Row]:
    return [{"record": bytes([i, 255 - i]) * (i % 9)} for i in range(sum(PARTS))]


@case("tfrecord")
def tfrecord(folder: Path) -> Made:
    paths = saved(folder, blobs(), lambda some: tfrecords(r["record"] for r in some), ".tfrecord")
    return Made(infeed.tfrecord(paths), blobs(), "record")


@case("tfrecord of examples")
def tfrecord_examples(folder: Path) -> Made:
    rows = [{"image": row["text"].encode(), "label": row["id"], "x": [row["score"], -1.5]} for row in records()]
    paths = saved(folder, rows, lambda some: tfrecords(map(example, some)), ".tfrecord")
    features = {"image": "bytes", "label": "int64", "x": "float32[2]"}
    return Made(infeed.tfrecord(paths, features=features), rows, "label")


@case("mds")
def mds(folder: Path) -> Made:
    rows = [{**row, "raw": row["text"].encode()[::-1]} for row in records()]
    write_mds(folder / "set", {"id": "int", "score": "float64", "text": "str", "raw": "bytes"}, parts(rows))
    return Made(infeed.mds(folder / "set"), rows, "text")


@case("lmdb")
def lmdb(folder: Path) -> Made:
    library = pytest.importorskip("lmdb")
    with library.open(str(folder / "set.lmdb"), map_size=1 << 20) as env:
        with env.begin(write=True) as write:
            for i, row in enumerate(blobs()):
                write.put(f"{i:04d}".encode(), row["record"] + b"!")
        with env.begin() as read:
            rows = [{"key": k.decode(), "value": v} for k, v in read.cursor()]
    return Made(infeed.lmdb(folder / "set.lmdb"), rows, "value")


# Arrays


def columns_of_arrays() -> dict[str, np.ndarray]:
    """Several fields of all rows: a small array in big-endian, a number, and one of half precision."""
    n = sum(PARTS)
    # Arithmetic gives the byte order of this machine.
    x = (np.arange(n * 6).reshape(n, 2, 3) / 4).astype(">f4")
    return {"x": x, "y": np.arange(n, dtype="i8") - 5, "h": (np.arange(n, dtype="f2") / 8)[:, None]}


def array_rows(arrays: dict[str, np.ndarray]) -> list[Row]:
    return [{name: array[i].tolist() for name, array in arrays.items()} for i in range(sum(PARTS))]


def array_parts(arrays: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    ends = np.cumsum([0, *PARTS])
    return [{name: array[a:b] for name, array in arrays.items()} for a, b in itertools.pairwise(ends)]


@case("npy")
def npy(folder: Path) -> Made:
    x = columns_of_arrays()["x"]
    paths = [folder / f"part-{k}.npy" for k in range(len(PARTS))]
    for k, (path, part) in enumerate(zip(paths, array_parts({"x": x}), strict=True)):
        # One of them in Fortran order, and one in the other byte order.
        array = np.asfortranarray(part["x"]) if k == 2 else part["x"].astype("<f4" if k else ">f4")
        np.save(path, array)
    return Made(infeed.npy(paths), array_rows({"data": x}), "data")


@case("npy, structured")
def npy_structured(folder: Path) -> Made:
    rows = records()
    dtype = [("id", "<i4"), ("score", ">f8"), ("text", "<U40")]
    array = np.array([(r["id"], r["score"], r["text"]) for r in rows], dtype)
    np.save(folder / "all.npy", array)
    return Made(infeed.npy(folder / "all.npy"), rows, "score")


@case("npy, one row a file")
def npy_files(folder: Path) -> Made:
    x = columns_of_arrays()["x"]
    for i, row in enumerate(x):
        np.save(folder / f"{i:03d}.npy", row)
    return Made(infeed.npy(folder), array_rows({"data": x}), "data")


def archives(save: Callable[..., None], **options: Any) -> Callable[[Path], Made]:
    def make(folder: Path) -> Made:
        arrays = columns_of_arrays()
        for k, part in enumerate(array_parts(arrays)):
            save(folder / f"part-{k}.npz", **part)
        return Made(infeed.npz(folder, rows="axis", **options), array_rows(arrays), "y")

    return make


case("npz, stored")(archives(np.savez))
case("npz, deflated")(archives(np.savez_compressed))


@case("npz, one row a file")
def npz_files(folder: Path) -> Made:
    arrays = columns_of_arrays()
    for i in range(sum(PARTS)):
        np.savez(folder / f"{i:03d}.npz", **{name: array[i] for name, array in arrays.items()})
    return Made(infeed.npz(folder / "*.npz"), array_rows(arrays), "x")


@case("safetensors")
def safetensors(folder: Path) -> Made:
    arrays = {name: array.astype(array.dtype.newbyteorder("=")) for name, array in columns_of_arrays().items()}
    for k, part in enumerate(array_parts(arrays)):
        (folder / f"part-{k}.safetensors").write_bytes(safetensors_bytes(part))
    return Made(infeed.safetensors(folder, rows="axis"), array_rows(arrays), "y")


@case("safetensors, one row a file")
def safetensors_files(folder: Path) -> Made:
    arrays = {name: array.astype(array.dtype.newbyteorder("=")) for name, array in columns_of_arrays().items()}
    for i in range(sum(PARTS)):
        (folder / f"{i:03d}.safetensors").write_bytes(safetensors_bytes({n: a[i] for n, a in arrays.items()}))
    return Made(infeed.safetensors(folder), array_rows(arrays), "x")


@case("pt")
def torch_saved(folder: Path) -> Made:
    torch = pytest.importorskip("torch")
    arrays = {name: array.astype(array.dtype.newbyteorder("=")) for name, array in columns_of_arrays().items()}
    for k, part in enumerate(array_parts(arrays)):
        # One of them is transposed.
        tensors = {name: torch.from_numpy(array.copy("F" if k == 2 else "C")) for name, array in part.items()}
        torch.save(tensors, folder / f"part-{k}.pt")
    return Made(infeed.pt(folder, rows="axis"), array_rows(arrays), "y")


@case("pt, one row a file")
def torch_files(folder: Path) -> Made:
    torch = pytest.importorskip("torch")
    arrays = {name: array.astype(array.dtype.newbyteorder("=")) for name, array in columns_of_arrays().items()}
    for i in range(sum(PARTS)):
        torch.save({name: torch.tensor(array[i]) for name, array in arrays.items()}, folder / f"{i:03d}.pt")
    return Made(infeed.pt(folder), array_rows(arrays), "x")


@case("memmap")
def memmap(folder: Path) -> Made:
    x = columns_of_arrays()["x"]
    for k, part in enumerate(array_parts({"x": x})):
        part["x"].tofile(folder / f"part-{k}.bin")
        described = {"dtype": ">f4", "shape": [-1, 2, 3]}
        (folder / f"part-{k}.json").write_text(json.dumps(described))
    return Made(infeed.memmap(folder), array_rows({"data": x}), "data")


def data_sets(**options: Any) -> Callable[[Path], Made]:
    def make(folder: Path) -> Made:
        h5py = pytest.importorskip("h5py")
        arrays = columns_of_arrays()
        paths = [folder / f"part-{k}.h5" for k in range(len(PARTS))]
        for path, part in zip(paths, array_parts(arrays), strict=True):
            with h5py.File(path, "w") as file:
                for name, array in part.items():
                    chunks = (2, *array.shape[1:]) if options else None
                    file.create_dataset(name, data=array, chunks=chunks, **options)
        pipeline = infeed.hdf5(paths, variables=["x", "y", "h"])
        return Made(pipeline, array_rows(arrays), "y")

    return make


case("hdf5, contiguous")(data_sets())
case("hdf5, chunks and gzip")(data_sets(compression="gzip", shuffle=True))


@case("hdf5, one row a group")
def hdf5_groups(folder: Path) -> Made:
    h5py = pytest.importorskip("h5py")
    arrays = columns_of_arrays()
    with h5py.File(folder / "all.h5", "w") as file:
        for i in range(sum(PARTS)):
            for name, array in arrays.items():
                file[f"g{i:03d}/{name}"] = array[i]
    names = ["x", "y", "h"]
    return Made(infeed.hdf5(folder / "all.h5", rows="group", variables=names), array_rows(arrays), "h")


@case("netcdf")
def netcdf(folder: Path) -> Made:
    scipy_io = pytest.importorskip("scipy.io")
    arrays = {"x": columns_of_arrays()["x"], "y": np.arange(sum(PARTS), dtype="i4") - 5}
    for k, part in enumerate(array_parts(arrays)):
        with scipy_io.netcdf_file(str(folder / f"part-{k}.nc"), "w") as file:
            for name, length in (("row", None), ("a", 2), ("b", 3)):
                file.createDimension(name, length)
            file.createVariable("x", "f4", ("row", "a", "b"))[:] = part["x"]
            file.createVariable("y", "i4", ("row",))[:] = part["y"]
    return Made(infeed.netcdf(folder), array_rows(arrays), "y")


@case("root")
def root(folder: Path) -> Made:
    uproot = pytest.importorskip("uproot")
    arrays = columns_of_arrays()
    arrays["h"] = arrays["h"].astype("f4")
    for k, part in enumerate(array_parts(arrays)):
        with uproot.recreate(folder / f"part-{k}.root", compression=uproot.ZSTD(1)) as file:
            file.mktree("events", {name: (array.dtype, array.shape[1:]) for name, array in part.items()})
            # Several baskets.
            for half in (slice(None, 2), slice(2, None)):
                file["events"].extend({name: array[half] for name, array in part.items() if len(array[half])})
    return Made(infeed.root(folder, branches=["x", "y", "h"]), array_rows(arrays), "y")


def zarr_stores(version: int, **options: Any) -> Callable[[Path], Made]:
    def make(folder: Path) -> Made:
        zarr = pytest.importorskip("zarr")
        arrays = columns_of_arrays()
        paths = [folder / f"part-{k}.zarr" for k in range(len(PARTS))]
        for path, part in zip(paths, array_parts(arrays), strict=True):
            group = zarr.open_group(str(path), mode="w", zarr_format=version)
            for name, array in part.items():
                settings = {key: (rows, *array.shape[1:]) for key, rows in options.items()}
                group.create_array(name, shape=array.shape, dtype=array.dtype, **settings)[...] = array
        return Made(infeed.zarr(paths, variables=["x", "y", "h"]), array_rows(arrays), "y")

    return make


case("zarr, version 2")(zarr_stores(2, chunks=2))
case("zarr, one row a chunk")(zarr_stores(3, chunks=1))
case("zarr, shards")(zarr_stores(3, chunks=2, shards=4))


# Compressed: streams


def zstd(data: bytes) -> bytes:
    return pytest.importorskip("zstandard").compress(data)


def lz4(data: bytes) -> bytes:
    return pytest.importorskip("lz4.frame").compress(data)


PACK = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd, "lz4": lz4}


def compressed(kind: str, suffix: str, rows: list[Row], encode: Callable, opened: Callable, one: str) -> None:
    """Registers a compressed set."""

    def make(folder: Path) -> Made:
        paths = saved(folder, rows, lambda some: PACK[kind](encode(some)), f"{suffix}.{kind}")
        return Made(opened(paths), rows, one)

    case(f"{suffix[1:]}.{kind}", stream=True)(make)


for _kind in PACK:
    compressed(_kind, ".jsonl", records(), json_lines, lambda p: infeed.jsonl(p), "text")
compressed("gz", ".csv", records(), csv_text, lambda p: infeed.csv(p), "score")
compressed("zst", ".tsv", records(), lambda r: csv_text(r, "\t"), lambda p: infeed.csv(p), "id")
compressed("zst", ".txt", lines(), text_lines, lambda p: infeed.text(p), "text")
compressed(
    "gz", ".tfrecord", blobs(), lambda r: tfrecords(x["record"] for x in r), lambda p: infeed.tfrecord(p), "record"
)
