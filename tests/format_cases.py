"""Small data sets of tokens and tables, written by the library that owns the format; `format_rows.py` has the others."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from format_writers import megatron_samples, write_megatron

import infeed

Row = dict[str, Any]
#: Rows of the files of a set: uneven, and one file smaller than a batch.
PARTS = (24, 3, 26)


@dataclass(frozen=True)
class Made:
    """A data set: how infeed opens it, and the expected rows."""

    pipeline: infeed.Pipeline
    rows: list[Row]
    #: A field that can be selected alone.
    one: str


@dataclass(frozen=True)
class Case:
    """How a data set is made, and whether its rows can be addressed."""

    name: str
    make: Callable[[Path], Made]
    stream: bool = False


CASES: list[Case] = []


def case(name: str, *, stream: bool = False) -> Callable[[Callable[[Path], Made]], Callable[[Path], Made]]:
    """Registers a maker."""

    def note(make: Callable[[Path], Made]) -> Callable[[Path], Made]:
        CASES.append(Case(name, make, stream))
        return make

    return note


def parts(rows: list[Row]) -> list[list[Row]]:
    """Rows cut into the files of a set."""
    ends = np.cumsum([0, *PARTS])
    return [rows[a:b] for a, b in itertools.pairwise(ends)]


def records() -> list[Row]:
    """Rows that every format with columns can hold."""
    texts = [
        "plain",
        "two words",
        "ünïcödé ✓",
        'a "quoted" one',
        "comma, tab\tand\nnew line",
        "e\u0301 \U0001f600",
        " ",
    ]
    return [{"id": i - 5, "score": i / 4 + 0.125, "text": f"{texts[i % 7]} {i}"} for i in range(sum(PARTS))]


def columns(rows: list[Row]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


# Tokens


def documents(seed: int = 0) -> list[np.ndarray]:
    """Documents of 1 to 30 tokens, 424 in total: 53 rows of 8."""
    rng = np.random.default_rng(seed)
    left, out = 8 * sum(PARTS), []
    while left:
        size = min(left, int(rng.integers(1, 31)))
        out.append(rng.integers(0, 50_000, size))
        left -= size
    return out


def windows(tokens: np.ndarray) -> list[Row]:
    return [{"tokens": row.tolist()} for row in tokens.reshape(-1, 8)]


@case("tokens, megatron files, windows")
def token_windows(folder: Path) -> Made:
    """Two concatenated files; their documents end anywhere, the files at whole rows."""
    made = [documents(1), documents(2)]
    for name, docs in zip("ab", made, strict=True):
        write_megatron(folder / name, docs, "u2" if name == "a" else "i4")
    flat = np.concatenate([np.concatenate(docs) for docs in made])
    return Made(infeed.tokens([folder / "a", folder / "b"], 8), windows(flat), "tokens")


@case("tokens, megatron files, labels")
def token_labels(folder: Path) -> Made:
    """A label is the next token: one more token is read, which the last row does not have."""
    docs = documents()
    write_megatron(folder / "a", docs, "i4")
    flat = np.concatenate(docs)
    rows = [{"tokens": flat[k : k + 8].tolist(), "labels": flat[k + 1 : k + 9].tolist()} for k in range(0, 416, 8)]
    return Made(infeed.tokens(folder / "a", 8, labels=True), rows, "labels")


@case("tokens, megatron sampling")
def token_megatron(folder: Path) -> Made:
    docs = documents()
    write_megatron(folder / "a", docs)
    rows = [{"tokens": s[:-1].tolist(), "labels": s[1:].tolist()} for s in megatron_samples(docs, 8, 1234)]
    return Made(infeed.tokens(folder / "a", 8, sampling="megatron", labels=True), rows, "tokens")


@case("tokens, raw")
def token_raw(folder: Path) -> Made:
    flat = np.concatenate(documents())
    flat.astype("<u2").tofile(folder / "train.bin")
    return Made(infeed.tokens(folder / "train.bin", 8, raw="uint16"), windows(flat), "tokens")


@case("tokens, npy")
def token_npy(folder: Path) -> Made:
    flat = np.concatenate(documents())
    np.save(folder / "train.npy", flat.astype(np.uint32))
    return Made(infeed.tokens(folder / "train.npy", 8), windows(flat), "tokens")


# Blocks of rows


def write_parquet(folder: Path) -> list[Path]:
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    paths = [folder / f"part-{k}.parquet" for k in range(len(PARTS))]
    for path, rows in zip(paths, parts(records()), strict=True):
        pq.write_table(pa.table(columns(rows)), path, row_group_size=10, compression="zstd")
    return paths


@case("parquet")
def parquet(folder: Path) -> Made:
    import pyarrow.parquet as pq

    paths = write_parquet(folder)
    return Made(infeed.parquet(paths), [row for p in paths for row in pq.read_table(p).to_pylist()], "score")


@case("parquet as a matrix")
def matrix(folder: Path) -> Made:
    """Several numeric columns in one array, and a label."""
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    rows = [{"features": [r["score"], float(r["id"])], "label": r["id"] % 3} for r in records()]
    paths = [folder / f"part-{k}.parquet" for k in range(len(PARTS))]
    for path, some in zip(paths, parts(rows), strict=True):
        a, b = (np.array([r["features"][k] for r in some], t) for k, t in ((0, np.float32), (1, np.int64)))
        pq.write_table(pa.table({"b": b, "label": [r["label"] for r in some], "a": a}), path, row_group_size=10)
    return Made(infeed.table(paths, features=["a", "b"], label="label"), rows, "features")


def arrow_files(folder: Path, opened: str) -> list[Path]:
    pa = pytest.importorskip("pyarrow")
    paths = [folder / f"part-{k}.arrow" for k in range(len(PARTS))]
    for path, rows in zip(paths, parts(records()), strict=True):
        table = pa.table(columns(rows))
        with getattr(pa.ipc, opened)(str(path), table.schema) as out:
            out.write_table(table, max_chunksize=7)
    return paths


@case("arrow file")
def arrow_file(folder: Path) -> Made:
    return Made(infeed.arrow(arrow_files(folder, "new_file")), records(), "text")


@case("arrow stream")
def arrow_stream(folder: Path) -> Made:
    return Made(infeed.arrow(arrow_files(folder, "new_stream")), records(), "id")


@case("hugging face folder")
def hugging_face(folder: Path) -> Made:
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    datasets.Dataset.from_dict(columns(records())).save_to_disk(str(folder / "set"), num_shards=3)
    return Made(infeed.arrow(folder / "set"), datasets.load_from_disk(str(folder / "set")).to_list(), "text")


@case("avro")
def avro(folder: Path) -> Made:
    fastavro = pytest.importorskip("fastavro")
    fields = [{"name": "id", "type": "long"}, {"name": "score", "type": "double"}, {"name": "text", "type": "string"}]
    paths, rows = [folder / f"part-{k}.avro" for k in range(len(PARTS))], []
    for path, some in zip(paths, parts(records()), strict=True):
        with path.open("wb") as out:
            schema = {"type": "record", "name": "Row", "fields": fields}
            fastavro.writer(out, schema, some, codec="deflate", sync_interval=200)
        with path.open("rb") as file:
            rows += list(fastavro.reader(file))
    return Made(infeed.avro(paths), rows, "score")


@case("sqlite")
def sqlite(folder: Path) -> Made:
    base = sqlite3.connect(folder / "rows.db")
    with base:
        base.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, score REAL, text TEXT)")
        base.executemany("INSERT INTO rows VALUES (:id, :score, :text)", records())
    found = base.execute("SELECT id, score, text FROM rows ORDER BY id").fetchall()
    base.close()
    rows = [dict(zip(("id", "score", "text"), row, strict=True)) for row in found]
    return Made(infeed.sqlite(folder / "rows.db", table="rows"), rows, "text")
