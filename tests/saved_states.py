"""Pipelines whose states are kept as test data, so that later versions can be checked against them.

``python tests/saved_states.py NAME`` writes ``tests/states/NAME.json`` with the installed version.
"""

from __future__ import annotations

import contextlib
import json
import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import infeed

FOLDER = Path(__file__).parent / "states"
#: Batches that are taken before the state is written, and those that are compared after it.
BEFORE, AFTER = 7, 9


def double(sample: dict[str, Any]) -> dict[str, Any]:
    return {**sample, "n": sample["n"] * 2}


def lines(folder: Path, name: str = "a", count: int = 97, files: int = 3) -> list[str]:
    """JSON lines: a number and a text of growing length."""
    paths = []
    for file in range(files):
        path = folder / f"{name}-{file}.jsonl"
        rows = range(file * count, (file + 1) * count)
        path.write_text("".join(json.dumps({"n": n, "text": "word " * (1 + n % 7)}) + "\n" for n in rows))
        paths.append(str(path))
    return paths


def tars(folder: Path) -> str:
    with infeed.ShardWriter(str(folder / "t-%06d.tar"), maxcount=40) as writer:
        for n in range(150):
            writer.write({"__key__": f"{n:05d}", "n.cls": str(n)})
    return str(folder / "t-*.tar")


def corpus(folder: Path) -> str:
    """A token file of Megatron's layout."""
    sizes = [5 + n % 90 for n in range(200)]
    tokens = np.arange(sum(sizes), dtype="<u2")
    (folder / "c.bin").write_bytes(tokens.tobytes())
    offsets = np.cumsum([0, *sizes[:-1]]) * 2
    head = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(sizes), len(sizes) + 1)
    index = np.array(sizes, "<i4").tobytes() + np.array(offsets, "<i8").tobytes()
    (folder / "c.idx").write_bytes(head + index + np.arange(len(sizes) + 1, dtype="<i8").tobytes())
    # Keys of token rows name the file, so a state fits only under the same path: a relative one.
    return "c"


def table(folder: Path) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = str(folder / "t.parquet")
    rows = pa.table({"n": pa.array(range(300), pa.int64()), "x": pa.array([n / 7 for n in range(300)], pa.float32())})
    pq.write_table(rows, path, row_group_size=64)
    return path


def packed(folder: Path) -> str:
    import gzip

    path = folder / "s.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(json.dumps({"n": n}).encode() + b"\n" for n in range(400)), mtime=0))
    return str(path)


#: How each pipeline is made, and the field that tells its rows apart.
CASES: dict[str, tuple[Callable[[Path], infeed.Pipeline], str]] = {
    "tar shuffled": (lambda f: infeed.tar(tars(f)).shuffle(seed=3).decode(**{"n.cls": "int"}).batch(4), "n.cls"),
    "jsonl in order": (lambda f: infeed.jsonl(lines(f)).batch(5, drop_last=True), "n"),
    "jsonl shuffled by file": (lambda f: infeed.jsonl(lines(f)).shuffle(seed=9, window=2).batch(4), "n"),
    "parquet blocks": (lambda f: infeed.parquet(table(f)).shuffle(seed=5).batch(6), "n"),
    "table matrix": (lambda f: infeed.table(table(f), features=["x"], label="n").shuffle(seed=1).batch(8), "n"),
    "tokens": (lambda f: infeed.tokens(corpus(f), 16).shuffle(seed=2).batch(4), "tokens"),
    "megatron samples": (
        lambda f: infeed.tokens(corpus(f), 16, sampling="megatron", samples=900, seed=7).batch(4),
        "tokens",
    ),
    "stream through a buffer": (lambda f: infeed.jsonl(packed(f)).shuffle(seed=4, buffer=32).batch(5), "n"),
    "blend": (
        lambda f: (
            infeed.blend([infeed.jsonl(lines(f, "a")), infeed.jsonl(lines(f, "b", 50, 2))], [0.7, 0.3])
            .shuffle(seed=6)
            .batch(4)
        ),
        "n",
    ),
    "split and repeat": (lambda f: infeed.jsonl(lines(f)).shuffle(seed=8).take(200).repeat(2).batch(4), "n"),
    "python function": (lambda f: infeed.jsonl(lines(f)).shuffle(seed=3).map(double).batch(4), "n"),
    "groups of equal length": (
        lambda f: infeed.jsonl(lines(f)).shuffle(seed=3).group_by_length("bytes").batch(4),
        "n",
    ),
}


def rows(loader: infeed.Loader, field: str, batches: int) -> list[Any]:
    """Values of the next batches, across the ends of epochs."""
    out: list[Any] = []
    while len(out) < batches:
        for batch in loader:
            out.append(np.asarray(batch[field]).tolist())
            if len(out) == batches:
                return out
    return out


def write(name: str) -> None:
    made = {}
    for case, (make, field) in CASES.items():
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            pipeline = make(Path(folder))
            loader = pipeline.to_numpy(threads=1)
            before = rows(loader, field, BEFORE)
            state = loader.state_dict()
            resumed = pipeline.to_numpy(threads=1)
            resumed.load_state_dict(state)
            made[case] = {"before": before, "state": state, "after": rows(resumed, field, AFTER)}
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    write(sys.argv[1])
