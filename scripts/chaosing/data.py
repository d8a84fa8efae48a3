"""The data of the campaign: small, of several formats, and the checksum of every row, taken from local files."""

from __future__ import annotations

import io
import json
import struct
import tarfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import infeed

TOKENS = 64
NAMES = {
    "tar": "t-{0..9}.tar",
    "parquet": "p-{0..5}.parquet",
    "tokens": "tokens-{0..3}.bin",
    "jsonl": "j-{0..5}.jsonl",
    "jsonl.zst": "z-{0..5}.jsonl.zst",
    "tfrecord": "r-{0..7}.tfrecord",
}
"""Many small files, so that an epoch is many requests and not many bytes."""
KINDS = list(NAMES)
STREAMS = {"jsonl.zst"}
CHECKED = {"jsonl.zst", "tfrecord"}
"""Formats with checksums of their own. Only for these a byte that was changed on its way can be noticed."""


def _text(random: np.random.Generator, length: int) -> str:
    return random.bytes(length // 2).hex()


def _tar(path: Path, first: int, rows: int) -> None:
    random = np.random.default_rng(first)
    with tarfile.open(path, "w") as file:
        for row in range(first, first + rows):
            for name, body in ((f"{row:06}.bin", random.bytes(16_000 + row)), (f"{row:06}.cls", str(row).encode())):
                member = tarfile.TarInfo(name)
                member.size = len(body)
                file.addfile(member, io.BytesIO(body))


def _parquet(path: Path, first: int, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(first)
    columns = {"value": np.arange(first, first + rows), "text": [_text(random, 600) for _ in range(rows)]}
    pq.write_table(pa.table(columns), path, row_group_size=100, compression="none")


def _lines(first: int, rows: int) -> bytes:
    random = np.random.default_rng(first)
    some = ({"value": row, "text": _text(random, 300 + row % 90)} for row in range(first, first + rows))
    return "".join(json.dumps(row) + "\n" for row in some).encode()


def _zstd(path: Path, first: int, rows: int) -> None:
    import zstandard

    path.write_bytes(zstandard.ZstdCompressor(write_checksum=True).compress(_lines(first, rows)))


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    crc = _crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _tfrecord(path: Path, first: int, rows: int) -> None:
    random = np.random.default_rng(first)
    with path.open("wb") as out:
        for row in range(first, first + rows):
            head, body = struct.pack("<Q", 900 + row), random.bytes(900 + row)
            out.write(head + _masked(head) + body + _masked(body))


def write(folder: Path) -> None:
    """Write all of it."""
    folder.mkdir(parents=True, exist_ok=True)
    for shard in range(10):
        _tar(folder / f"t-{shard}.tar", shard * 24, 24)
    for shard in range(6):
        _parquet(folder / f"p-{shard}.parquet", shard * 400, 400)
        _zstd(folder / f"z-{shard}.jsonl.zst", shard * 300, 300)
        (folder / f"j-{shard}.jsonl").write_bytes(_lines(5000 + shard * 300, 300))
    for shard in range(8):
        _tfrecord(folder / f"r-{shard}.tfrecord", shard * 40, 40)
    for shard in range(4):
        (np.arange(shard, shard + 60_000) * 7919 % 50_000).astype("<u2").tofile(folder / f"tokens-{shard}.bin")


def opened(kind: str, root: str) -> infeed.Pipeline:
    """The rows of one kind below a folder or a URL."""
    path = root + NAMES[kind]
    if kind == "tokens":
        return infeed.tokens(path, TOKENS, raw="uint16")
    return infeed.open(path)


def digest(kind: str, batch: Any) -> list[tuple[int, int]]:
    """The rows of a batch, without those that pad it, each with the checksum of its fields."""
    names = sorted(name for name in batch if not name.startswith("__"))
    # Rows of a stream have no numbers that mean the same for every order; here they carry their own.
    rows = batch["value" if kind in STREAMS else "__row__"]
    found = []
    for at, (row, pad) in enumerate(zip(rows, batch["__pad__"], strict=True)):
        crc = 0
        for name in names:
            value = batch[name][at]
            crc = zlib.crc32(value.tobytes() if hasattr(value, "tobytes") else repr(value).encode(), crc)
        if not pad:
            found.append((int(row), crc))
    return found


def expected(folder: Path) -> dict[str, dict[int, int]]:
    """Every row of every kind with its checksum, from local files."""
    known: dict[str, dict[int, int]] = {}
    for kind in KINDS:
        pipeline = opened(kind, f"{folder}/").batch(50, ragged="list")
        rows = [row for batch in pipeline.to_numpy(threads=1) for row in digest(kind, batch)]
        known[kind] = dict(rows)
        assert len(known[kind]) == len(rows) > 100, kind
    return known
