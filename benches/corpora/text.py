"""Text: Parquet to packed batches of tokens, and the tokenizers library alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .works import END, PACKED, PACKED_BATCH, Pass, Task


def tokenizer(task: Task) -> tuple[Any, int]:
    """The tokenizer and its end-of-text token."""
    from tokenizers import Tokenizer

    made = Tokenizer.from_file(task.tokenizer)
    return made, made.token_to_id(END)


def texts(task: Task, rows: int) -> Iterator[list[str]]:
    """The documents of all files, some rows at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(task.threads)
    for path in task.files("text/*.parquet"):
        for batch in pq.ParquetFile(path).iter_batches(rows, columns=["text"]):
            yield batch.column(0).to_pylist()


def pyarrow_tokenizers(task: Task) -> Pass:
    """A handwritten pipeline: read, encode on all cores, append to a buffer, take whole batches."""
    model, end = tokenizer(task)
    whole = PACKED * PACKED_BATCH

    def once() -> int:
        held: list[int] = []
        count = 0
        for some in texts(task, 512):
            for encoded in model.encode_batch_fast(some):
                held += encoded.ids
                held.append(end)
            full = len(held) // whole * whole
            for batch in np.array(held[:full], np.int64).reshape(-1, PACKED_BATCH, PACKED):
                count += batch.size
            del held[:full]
        return count

    return once


def hf_streaming(task: Task, *, workers: int) -> Pass:
    """Hugging Face datasets: streaming, a batched map that tokenises and packs, torch's DataLoader."""
    import datasets
    import torch

    model, end = tokenizer(task)

    def pack(rows: dict[str, list[str]]) -> dict[str, list[list[int]]]:
        flat: list[int] = []
        for encoded in model.encode_batch_fast(rows["text"]):
            flat += encoded.ids
            flat.append(end)
        return {"input_ids": [flat[i : i + PACKED] for i in range(0, len(flat) - PACKED + 1, PACKED)]}

    def collate(rows: list[dict[str, list[int]]]) -> Any:
        # Faster than with_format("torch"), which makes a tensor of every row first.
        return torch.from_numpy(np.array([row["input_ids"] for row in rows], np.int64))

    data = datasets.load_dataset("parquet", data_files=task.files("text/*.parquet"), split="train", streaming=True)
    packed = data.map(pack, batched=True, batch_size=1000, remove_columns=data.column_names)
    loader = torch.utils.data.DataLoader(
        packed, PACKED_BATCH, num_workers=workers, collate_fn=collate, drop_last=True
    )
    return lambda: sum(batch.numel() for batch in loader)


def encode_batch(task: Task, *, fast: int = 0) -> Pass:
    """The library alone: all texts in memory, one call; ids are not extracted."""
    model, _ = tokenizer(task)
    everything = [text for some in texts(task, 4096) for text in some]
    encode = model.encode_batch_fast if fast else model.encode_batch
    return lambda: sum(map(len, encode(everything)))
