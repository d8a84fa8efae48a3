"""Use an installed infeed that has only NumPy beside it; `try_package.sh` makes the environment.

    python scripts/try_package.py FOLDER

FOLDER holds what ``infeed demo --keep`` made. The rest is made here, so that the C libraries that are linked into the
package have work to do: libjpeg-turbo, xz and SQLite.
"""

from __future__ import annotations

import gzip
import json
import lzma
import sqlite3
import sys
import tempfile
from pathlib import Path

import numpy as np

import infeed
from infeed import decoders as D
from infeed import transforms as T


def images(folder: Path) -> None:
    """Crops of JPEGs are the same with one thread and with four, and after a resume."""
    pipeline = (
        infeed.open(str(folder))
        .shuffle(seed=17)
        .decode(jpg="rgb", cls="int")
        .map(T.RandomResizedCrop(64), T.RandomHorizontalFlip(), T.Normalize([0.5] * 3, [0.25] * 3), on="jpg")
        .batch(32, drop_last=True)
    )
    alone = [(batch["jpg"].copy(), batch["cls"].copy()) for batch in pipeline.to_numpy(threads=1)]
    together = pipeline.to_numpy(threads=4)
    state = None
    for step, (batch, (pixels, labels)) in enumerate(zip(together, alone, strict=True)):
        np.testing.assert_array_equal(batch["jpg"], pixels)
        np.testing.assert_array_equal(batch["cls"], labels)
        if step == 1:
            state = together.state_dict()
    again = pipeline.to_numpy(threads=2)
    again.load_state_dict(state)
    np.testing.assert_array_equal(next(iter(again))["jpg"], alone[2][0])
    print(f"images: {len(alone)} batches of {alone[0][0].shape} {alone[0][0].dtype}")


def shards(folder: Path) -> None:
    """What the writer wrote comes back, through a Python function."""
    with infeed.ShardWriter(folder / "rows-%03d.tar", maxcount=20) as out:
        for row in range(50):
            out.write({"__key__": f"{row:04d}", "npy": np.full(8, row, np.float32), "txt": f"row {row}"})

    def double(array: np.ndarray) -> np.ndarray:
        return array * 2

    pipeline = infeed.open(str(folder / "rows-*.tar")).decode(npy=D.npy(shape=(8,), dtype="float32"), txt="text")
    rows = [
        (array[0], text)
        for batch in pipeline.map(double, on="npy").batch(7).to_numpy()
        for array, text in zip(batch["npy"], batch["txt"], strict=True)
    ]
    assert rows == [(2 * row, f"row {row}") for row in range(50)], rows
    print(f"shards: {len(rows)} rows")


def tables(folder: Path) -> None:
    """Compressed JSON lines and a SQLite table give the numbers that were written."""
    lines = "".join(json.dumps({"number": number, "word": f"w{number}"}) + "\n" for number in range(100)).encode()
    (folder / "plain.jsonl").write_bytes(lines)
    (folder / "gzip.jsonl.gz").write_bytes(gzip.compress(lines))
    (folder / "xz.jsonl.xz").write_bytes(lzma.compress(lines))
    database = sqlite3.connect(folder / "numbers.sqlite")
    database.execute("create table numbers (number integer primary key, word text)")
    database.executemany("insert into numbers values (?, ?)", [(number, f"w{number}") for number in range(100)])
    database.commit()
    database.close()
    for name in ("plain.jsonl", "gzip.jsonl.gz", "xz.jsonl.xz", "numbers.sqlite"):
        batches = list(infeed.open(str(folder / name)).batch(30).to_numpy())
        assert [int(number) for batch in batches for number in batch["number"]] == list(range(100)), name
        assert [str(word) for batch in batches for word in batch["word"]] == [f"w{n}" for n in range(100)], name
    print("tables: JSON lines (plain, gzip, xz), SQLite")


def main() -> int:
    """The command line."""
    checkout = Path(__file__).resolve().parent.parent
    if Path(infeed.__file__).resolve().is_relative_to(checkout / "python"):
        raise SystemExit(f"this is the infeed of the checkout, not an installed one: {infeed.__file__}")
    for missing in ("torch", "pyarrow", "PIL"):
        if missing in sys.modules:
            raise SystemExit(f"infeed imported {missing}")
    images(Path(sys.argv[1]))
    with tempfile.TemporaryDirectory() as name:
        shards(Path(name))
        tables(Path(name))
    print(f"infeed {infeed.__version__} on Python {sys.version.split()[0]}, NumPy {np.__version__}: works")
    return 0


if __name__ == "__main__":
    sys.exit(main())
