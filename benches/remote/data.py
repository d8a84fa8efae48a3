"""The data of the remote benches: tars in the folder of a server, and what peers need beside them."""

from __future__ import annotations

import contextlib
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

SHARDS = 8


def random_rows(rows: int, size: int) -> Iterator[tuple[bytes, int]]:
    """Rows that cannot be compressed, with labels."""
    random = np.random.default_rng(0)
    for row in range(rows):
        yield random.bytes(size), row % 100


def photographs(folder: Path, rows: int) -> Iterator[tuple[bytes, int]]:
    """The photographs of a folder, over and over."""
    files = [path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix.lower() in (".jpg", ".jpeg")]
    if not files:
        raise SystemExit(f"no JPEG files in {folder}")
    for row in range(rows):
        yield files[row % len(files)], row % 100


def write_tars(folder: Path, name: str, rows: Iterator[tuple[bytes, int]]) -> None:
    """Writes SHARDS tars, `name-0.tar` and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        names = [folder / f"{name}-{shard}.tar" for shard in range(SHARDS)]
        shards = [stack.enter_context(tarfile.open(path, "w")) for path in names]
        for number, (image, label) in enumerate(rows):
            for ending, data in (("jpg", image), ("cls", str(label).encode())):
                member = tarfile.TarInfo(f"{number:06}.{ending}")
                member.size = len(data)
                shards[number % SHARDS].addfile(member, io.BytesIO(data))
