"""Small data sets in row formats, and compressed ones, which are streams."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from format_cases import PARTS, Made, Row, case, parts, records
from format_writers import example, tfrecords, write_mds

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
