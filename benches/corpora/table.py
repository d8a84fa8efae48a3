"""Tables: shuffled batches of a matrix and a label out of Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .works import BUFFERED_GROUPS, TABLE_BATCH, TABLE_COLUMNS, Pass, Task

FEATURES = [f"f{i:02d}" for i in range(TABLE_COLUMNS)]


def gathered(table: Any) -> Iterator[tuple[Any, Any]]:
    """Shuffled batches of an Arrow table."""
    matrix = np.empty((table.num_rows, TABLE_COLUMNS), np.float32)
    for i, name in enumerate(FEATURES):
        matrix[:, i] = table.column(name).to_numpy()
    labels = table.column("label").to_numpy()
    order = np.random.default_rng().permutation(len(labels))
    for k in range(0, len(order), TABLE_BATCH):
        some = order[k : k + TABLE_BATCH]
        yield matrix[some], labels[some]


def gathered_fields(table: Any) -> Iterator[dict[str, Any]]:
    """Shuffled batches of an Arrow table, an array per column."""
    columns = {name: table.column(name).to_numpy() for name in table.column_names}
    order = np.random.default_rng().permutation(table.num_rows)
    for k in range(0, len(order), TABLE_BATCH):
        some = order[k : k + TABLE_BATCH]
        yield {name: values[some] for name, values in columns.items()}


def row_groups(task: Task) -> Pass:
    """A matrix and labels, streamed."""
    return _row_groups(task, lambda held: sum(len(labels) for _, labels in gathered(held)))


def row_group_fields(task: Task) -> Pass:
    """An array per column, streamed."""
    return _row_groups(task, lambda held: sum(len(batch["label"]) for batch in gathered_fields(held)))


def _row_groups(task: Task, consume: Callable[[Any], int]) -> Pass:
    """Row groups of all files in random order, some of them in memory at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(task.threads)

    def once() -> int:
        files = [pq.ParquetFile(path, memory_map=True) for path in task.files("table/*.parquet")]
        groups = [(file, group) for file in files for group in range(file.num_row_groups)]
        order = np.random.default_rng().permutation(len(groups))
        count = 0
        for k in range(0, len(order), BUFFERED_GROUPS):
            some = [groups[i] for i in order[k : k + BUFFERED_GROUPS]]
            count += consume(pa.concat_tables([file.read_row_group(group) for file, group in some]))
        return count

    return once


def read_table(task: Task) -> Pass:
    """Everything in memory first."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(task.threads)
    return lambda: sum(len(labels) for _, labels in gathered(pq.read_table(task.files("table/*.parquet"))))


def polars_sample(task: Task) -> Pass:
    """Polars reads and shuffles all, batches are slices."""
    import polars

    def once() -> int:
        data = polars.read_parquet(task.files("table/*.parquet")).sample(fraction=1.0, shuffle=True)
        features, labels, count = data.select(FEATURES), data["label"], 0
        for k in range(0, len(data), TABLE_BATCH):
            matrix, some = features[k : k + TABLE_BATCH].to_numpy(), labels[k : k + TABLE_BATCH].to_numpy()
            count += min(len(matrix), len(some))
        return count

    return once
