"""infeed-only measurements, started from run.py: first batch, memory, cost of one `next()`."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from runs import HERE, Failed, call

#: Memory growth is a claim about twenty epochs; a quick run looks at fewer.
EPOCHS, QUICK_EPOCHS = 20, 5


def run(python: Path, what: str, data: Path, threads: int, *more: str) -> dict[str, object]:
    """One measurement in a fresh process."""
    command = [
        str(python),
        str(HERE / "infeed_extra.py"),
        what,
        "--data",
        str(data),
        "--threads",
        str(threads),
        *more,
    ]
    return call(command, 300)


def first_batches(python: Path, data: Path, threads: int) -> dict[str, object]:
    """Time to the first batch in a folder never seen before, then again with a saved index."""
    folder = Path(tempfile.mkdtemp(prefix="first-", dir=data.parent))
    try:
        (folder / "photos").mkdir()
        for shard in (data / "photos").glob("*.tar"):
            os.link(shard, folder / "photos" / shard.name)
        cold = run(python, "first", folder, threads)
        again = [run(python, "first", folder, threads) for _ in range(3)]
        warm = min(again, key=lambda line: float(line["first_s"]))  # type: ignore[arg-type]
        return {
            "first_without_index_s": cold["first_s"],
            "first_without_index_with_import_s": cold["first_with_import_s"],
            "first_with_index_s": warm["first_s"],
            "first_with_index_with_import_s": warm["first_with_import_s"],
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(python: Path, data: Path, threads: int, *, quick: bool) -> dict[str, object]:
    """Run all measurements; one that fails is reported and the others continue."""
    found: dict[str, object] = {}
    epochs = QUICK_EPOCHS if quick else EPOCHS
    steps: dict[str, Callable[[], dict[str, object]]] = {
        "first": lambda: first_batches(python, data, threads),
        "memory": lambda: run(python, "memory", data, threads, "--epochs", str(epochs)),
        "python": lambda: run(python, "python", data, threads),
    }
    for name, step in steps.items():
        try:
            found.update({k: v for k, v in step().items() if k != "extra"})
        except Failed as why:
            found[f"{name}_failed"] = str(why)
    return found
