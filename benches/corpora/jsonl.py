"""JSON lines: reading, decompressing and taking three fields out. Counted in bytes of JSON."""

from __future__ import annotations

import io
import json
from typing import Any

from .works import JSON_BATCH, Pass, Task

#: What is taken out of every line.
FIELDS = ("id", "text", "meta.score")


def size(task: Task) -> int:
    """Bytes of JSON in all files, noted when they were made."""
    return int(json.loads((task.data / "meta.json").read_text())["json_bytes"])


def schema() -> Any:
    """The fields that are wanted; pyarrow is told to ignore the others, which saves it work."""
    import pyarrow as pa

    return pa.schema([("id", pa.int64()), ("text", pa.string()), ("meta", pa.struct([("score", pa.float64())]))])


def opened(path: str) -> Any:
    """The decompressed stream, by pyarrow."""
    import pyarrow as pa

    return pa.CompressedInputStream(pa.OSFile(path, "rb"), "zstd")


def options(task: Task) -> tuple[Any, Any]:
    """How pyarrow is told to read and to parse."""
    import pyarrow as pa
    from pyarrow import json as reader

    pa.set_cpu_count(task.threads)
    parse = reader.ParseOptions(explicit_schema=schema(), unexpected_field_behavior="ignore")
    return reader.ReadOptions(use_threads=True, block_size=4 << 20), parse


def open_json(task: Task) -> Pass:
    """Streamed in record batches."""
    from pyarrow import json as reader

    read, parse = options(task)

    def once() -> int:
        rows = 0
        for path in task.files("text/*.jsonl.zst"):
            for batch in reader.open_json(opened(path), read, parse):
                rows += len(batch.column("text"))
        return size(task) if rows else 0

    return once


def read_json(task: Task) -> Pass:
    """File by file."""
    from pyarrow import json as reader

    read, parse = options(task)

    def once() -> int:
        rows = 0
        for path in task.files("text/*.jsonl.zst"):
            rows += len(reader.read_json(opened(path), read, parse).column("text"))
        return size(task) if rows else 0

    return once


def read_json_pylist(task: Task) -> Pass:
    """File by file, and made into what a training loop or a tokenizer in Python takes: lists."""
    import pyarrow.compute as pc
    from pyarrow import json as reader

    read, parse = options(task)

    def once() -> int:
        for path in task.files("text/*.jsonl.zst"):
            table = reader.read_json(opened(path), read, parse)
            for batch in table.to_batches(JSON_BATCH):
                batch.column("text").to_pylist()
                batch.column("id").to_numpy()
                pc.struct_field(batch.column("meta"), "score").to_numpy()
        return size(task)

    return once


def hf_streaming(task: Task) -> Pass:
    """Hugging Face datasets, in batches."""
    import datasets

    data = datasets.load_dataset("json", data_files=task.files("text/*.jsonl.zst"), split="train", streaming=True)
    wanted = data.select_columns(["id", "text", "meta"])

    def once() -> int:
        for batch in wanted.iter(JSON_BATCH):
            [meta["score"] for meta in batch["meta"]]
        return size(task)

    return once


def python_json(task: Task) -> Pass:
    """The standard library, on a stream that zstandard decompresses."""
    import zstandard

    def once() -> int:
        held: list[tuple[int, str, float]] = []
        for path in task.files("text/*.jsonl.zst"):
            with open(path, "rb") as file:
                for line in io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file), 1 << 20):
                    row = json.loads(line)
                    held.append((row["id"], row["text"], row["meta"]["score"]))
                    if len(held) == JSON_BATCH:
                        held = []
        return size(task)

    return once
