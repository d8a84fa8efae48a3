"""infeed's side of every work: the only module that depends on its interface."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import infeed
from infeed import transforms as T

from . import works
from .jsonl import FIELDS, size
from .works import Pass, Task


def tokens(task: Task) -> Pass:
    """Sequences at shuffled places."""
    data = infeed.tokens(task.files("tokens.bin"), works.SEQUENCE, raw="uint16", dtype="int64")
    loader = data.shuffle(seed=1).batch(works.TOKEN_BATCH, drop_last=True).to_numpy(threads=task.threads)
    return lambda: sum(batch["tokens"].size for batch in loader)


def text(task: Task) -> Pass:
    """Read, tokenise, pack, batch."""
    data = infeed.parquet(task.files("text/*.parquet"), columns=["text"])
    data = data.map(T.Tokenize(task.tokenizer, eos=works.END, dtype="int64"), on="text")
    packed = data.pack(works.PACKED, on="text", mode="concat")
    loader = packed.batch(works.PACKED_BATCH, drop_last=True).to_numpy(threads=task.threads)
    return lambda: sum(batch["text"].size for batch in loader)


def table_streamed(task: Task) -> Pass:
    """The same with less memory than the data needs."""
    return table(task, memory="256MB")


def table(task: Task, memory: str | None = None) -> Pass:
    """As many row groups mixed at a time as the peer's."""
    features = [f"f{i:02d}" for i in range(works.TABLE_COLUMNS)]
    data = infeed.table(task.files("table/*.parquet"), features=features, label="label")
    data = data.shuffle(seed=1, window=works.BUFFERED_GROUPS)
    loader = data.batch(works.TABLE_BATCH).to_numpy(threads=task.threads, memory=memory)
    if memory is None:
        # Blocks are cached on their second use: the first epoch and the second, which warms up, decode all of them.
        sum(len(batch["label"]) for batch in loader)
    return lambda: sum(len(batch["label"]) for batch in loader)


def _fields(task: Task) -> infeed.Loader:
    data = infeed.parquet(task.files("table/*.parquet"))
    return data.shuffle(seed=1).batch(works.TABLE_BATCH).to_numpy(threads=task.threads)


def fields(task: Task) -> Pass:
    """A field per column."""
    loader = _fields(task)
    return lambda: sum(len(batch["label"]) for batch in loader)


def fields_first(task: Task) -> Pass:
    """The same, and every pass is the first of a loader."""

    def once() -> int:
        loader = _fields(task)
        count = sum(len(batch["label"]) for batch in loader)
        loader.close()
        return count

    return once


def _jsonl(task: Task) -> infeed.Pipeline:
    return infeed.jsonl(task.files("text/*.jsonl.zst"), fields=list(FIELDS)).batch(works.JSON_BATCH)


def jsonl(task: Task) -> Pass:
    """Text as Python strings, numbers as arrays."""
    loader = _jsonl(task).to_numpy(threads=task.threads)
    return lambda: size(task) if sum(len(batch["text"]) for batch in loader) else 0


def jsonl_arrow(task: Task) -> Pass:
    """The same as Arrow record batches."""
    loader = _jsonl(task).to_arrow(threads=task.threads)
    return lambda: size(task) if sum(len(batch) for batch in loader) else 0


def tfrecord(task: Task) -> Pass:
    """Bytes of the image and the label, checksums checked."""
    features = {"image": "bytes", "label": "int64"}
    data = infeed.tfrecord(task.files("tfrecord/*.tfrecord"), features=features, check=True)
    loader = data.batch(works.RECORD_BATCH).to_numpy(threads=task.threads)
    return lambda: sum(len(batch["label"]) for batch in loader)


def records(task: Task) -> Pass:
    """Serialised examples as in the file, checksums checked."""
    data = infeed.tfrecord(task.files("tfrecord/*.tfrecord"), check=True)
    loader = data.batch(works.RECORD_BATCH).to_numpy(threads=task.threads)
    return lambda: sum(len(batch["record"]) for batch in loader)


def tokenize(task: Task) -> Pass:
    """The command as users run it; counted by the file it wrote."""
    place = Path(tempfile.mkdtemp(prefix="infeed-tokenize-", dir=task.data))
    command = [sys.executable, "-m", "infeed", "tokenize", *task.files("text/*.parquet")]
    command += ["--tokenizer", task.tokenizer, "--out", str(place / "corpus"), "--workers", str(task.threads)]

    def once() -> int:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        try:
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            if done.returncode != 0:
                raise RuntimeError(f"infeed tokenize: {done.stderr.strip()[-200:]}".replace("\n", " "))
            written = sum(p.stat().st_size for p in place.rglob("*.bin"))
        finally:
            shutil.rmtree(place, ignore_errors=True)
        # 32,000 tokens fit into u16.
        return written // np.dtype(np.uint16).itemsize

    return once
