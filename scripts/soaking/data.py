"""The data of the soak: several formats, every value a function of its row, so that content can be checked."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import infeed

ROWS = {"tar": 400, "tokens": 600, "parquet": 3000, "jsonl.zst": 1500, "wrapped": 400}
KINDS = list(ROWS)
STREAMS = {"jsonl.zst"}
TOKENS = 64
DAMAGED = {
    "tar": {17, 18, 250, 399},
    "parquet": set(range(1000, 1250)),
    "jsonl.zst": {3, 700, 1499},
    "wrapped": {5, 222},
}
"""The rows that cannot be read in the damaged copy of each kind."""


class Squares:
    """A data set that only Python can read."""

    def __init__(self, damaged: bool) -> None:
        self.bad = DAMAGED["wrapped"] if damaged else set()

    def __len__(self) -> int:
        return ROWS["wrapped"]

    def __getitem__(self, row: int) -> dict[str, Any]:
        if row in self.bad:
            raise ValueError(f"row {row} is damaged")
        return {"value": row, "square": np.full(100, row * row)}


def _jpeg(row: int) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (40 + row % 30, 50), (row % 256, 128, 0)).save(out, "jpeg", quality=95)
    return out.getvalue()


def _tar(path: Path, bad: set[int]) -> None:
    with tarfile.open(path, "w") as tar:
        for row in range(ROWS["tar"]):
            image = _jpeg(row)
            image = image[: len(image) // 2] if row in bad else image
            for ending, body in (("jpg", image), ("cls", str(row).encode())):
                info = tarfile.TarInfo(f"s{row:05}.{ending}")
                info.size = len(body)
                tar.addfile(info, io.BytesIO(body))


def _tokens(path: Path, _: set[int]) -> None:
    np.repeat(np.arange(ROWS["tokens"], dtype="<u2"), TOKENS).tofile(path)


def _parquet(path: Path, bad: set[int]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"value": np.arange(ROWS["parquet"]), "half": np.arange(ROWS["parquet"]) / 2})
    pq.write_table(table, path, row_group_size=250, compression="zstd", use_dictionary=False)
    if bad:
        column = pq.ParquetFile(path).metadata.row_group(min(bad) // 250).column(0)
        with open(path, "r+b") as file:
            file.seek(column.data_page_offset)
            file.write(bytes(column.total_compressed_size))


def _lines(path: Path, bad: set[int]) -> None:
    import zstandard

    lines = (json.dumps({"value": row, "text": "x" * (row % 90)}) for row in range(ROWS["jsonl.zst"]))
    text = "".join((line[:7] if row in bad else line) + "\n" for row, line in enumerate(lines))
    path.write_bytes(zstandard.ZstdCompressor().compress(text.encode()))


_WRITERS: dict[str, tuple[str, Callable[[Path, set[int]], None]]] = {
    "tar": ("rows.tar", _tar),
    "tokens": ("rows.bin", _tokens),
    "parquet": ("rows.parquet", _parquet),
    "jsonl.zst": ("rows.jsonl.zst", _lines),
}


def write(folder: Path) -> None:
    """Write all data, whole and damaged. The C library injects faults into files below a folder named FAULTY."""
    for name in ("FAULTY-whole", "FAULTY-damaged"):
        (folder / name).mkdir(parents=True)
        for kind, (file, writer) in _WRITERS.items():
            writer(folder / name / file, DAMAGED.get(kind, set()) if name.endswith("damaged") else set())


def pipeline(folder: Path, kind: str, damaged: bool, seed: int, batch: int) -> infeed.Pipeline:
    """The pipeline of one kind of data."""
    if kind == "wrapped":
        return infeed.wrap(Squares(damaged)).shuffle(seed=seed).batch(global_size=batch)
    path = str(folder / ("FAULTY-damaged" if damaged else "FAULTY-whole") / _WRITERS[kind][0])
    if kind == "tar":
        rows = infeed.tar(path).shuffle(seed=seed).decode(jpg="rgb", cls="int")
        return rows.map(infeed.transforms.Resize((32, 32)), on="jpg").batch(global_size=batch)
    if kind == "tokens":
        return infeed.tokens(path, TOKENS, read="pread").shuffle(seed=seed).batch(global_size=batch)
    if kind == "parquet":
        return infeed.parquet(path, read="pread").shuffle(seed=seed).batch(global_size=batch)
    return infeed.open(path).batch(global_size=batch, ragged="list")


def check(kind: str, batch: Any) -> list[int]:
    """The rows of a batch, without those that pad it. Raises if the values are not those of the rows."""
    rows = np.asarray(batch["__row__"])
    values = batch["tokens"][:, 0] if kind == "tokens" else batch["cls" if kind == "tar" else "value"]
    if not np.array_equal(np.asarray(values), rows):
        raise AssertionError(f"{kind}: rows {rows} came with the values {values}")
    if kind == "tar" and len(rows) and abs(batch["jpg"][..., 0].mean((1, 2)) - rows % 256).max() > 4:
        raise AssertionError(f"tar: pictures of other rows than {rows}")
    if kind == "wrapped" and not np.array_equal(batch["square"][:, 0], rows * rows):
        raise AssertionError(f"wrapped: arrays of other rows than {rows}")
    return [int(row) for row, pad in zip(rows, batch["__pad__"], strict=True) if not pad]
