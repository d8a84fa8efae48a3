"""What every format of tokens, text and tables promises: the same checks over each of them.

Rows are those that the owning library reads, in the order of the files; epochs, ranks and states behave as everywhere
else.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import format_boxes  # noqa: F401  its cases are in the list, too
import format_images  # noqa: F401  its cases are in the list, too
import format_rows  # noqa: F401  its cases are in the list, too
import numpy as np
import pytest
from format_cases import CASES, PARTS, Case, Made, Row, columns, parts, records

import infeed

STREAMS = [c for c in CASES if c.stream]
ADDRESSED = [c for c in CASES if not c.stream]


def each(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[c.name for c in cases])


@pytest.fixture
def made(case: Case, tmp_path: Path) -> Made:
    folder = tmp_path / "data"
    folder.mkdir()
    return case.make(folder)


def plain(value: Any) -> Any:
    """A value as plain Python: arrays as lists, bytes as lists of numbers."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, bytes) else value


def samples(batch: infeed.Batch, *, padding: bool = True) -> list[Row]:
    """The samples of a batch, optionally without padding."""
    size = len(next(iter(batch.values())))
    keep = range(size) if padding else np.flatnonzero(~batch["__pad__"])
    return [{name: plain(column[i]) for name, column in batch.items()} for i in keep]


def flat(batches: Iterable[infeed.Batch]) -> list[Row]:
    return [row for batch in batches for row in samples(batch)]


def bag(rows: Iterable[Row]) -> Counter[str]:
    """Rows without their order."""
    return Counter(json.dumps(row, sort_keys=True) for row in rows)


def expected(made: Made) -> list[Row]:
    return [{name: plain(value) for name, value in row.items()} for row in made.rows]


def shuffled(made: Made, case: Case, seed: int = 3) -> infeed.Pipeline:
    """Streams shuffle through a buffer, everything else globally."""
    return made.pipeline.shuffle(seed=seed, buffer=16) if case.stream else made.pipeline.shuffle(seed=seed)


@each(CASES)
def test_rows_are_those_of_the_library(made: Made) -> None:
    """Value by value, and without a shuffle in the order of the files, epoch after epoch."""
    loader = made.pipeline.batch(7).to_numpy(threads=2)
    for _ in range(2):
        assert flat(loader) == expected(made)


@each(ADDRESSED)
def test_lengths_are_known(made: Made) -> None:
    assert made.pipeline.rows() == len(made.rows)
    assert len(made.pipeline.batch(7).to_numpy()) == -(-len(made.rows) // 7)
    assert made.pipeline.order().tolist() == list(range(len(made.rows)))


@each(CASES)
def test_epochs_are_permutations(case: Case, made: Made) -> None:
    """Each row once, in an order that differs between epochs and seeds and not between numbers of threads."""
    want, seen = bag(expected(made)), []
    for threads in (1, 2, 16):
        loader = shuffled(made, case).batch(5).to_numpy(threads=threads)
        epochs = [flat(loader), flat(loader)]
        assert [bag(epoch) for epoch in epochs] == [want, want]
        seen.append(epochs)
    assert seen[0] == seen[1] == seen[2]
    first, second = seen[0]
    assert first != second and first != expected(made)
    assert flat(shuffled(made, case, seed=4).batch(5).to_numpy()) != first


@each(ADDRESSED)
def test_block_shuffles_are_permutations(made: Made) -> None:
    for window in (1, 2):
        loader = made.pipeline.shuffle(seed=3, window=window).batch(5).to_numpy(threads=2)
        first, second = flat(loader), flat(loader)
        assert bag(first) == bag(second) == bag(expected(made))
        assert first != second


@each(CASES)
def test_ranks_partition_an_epoch(case: Case, made: Made) -> None:
    """Every rank has the same number of steps, and together they have each row once."""
    for size in (1, 2, 3, 4):
        loaders = [shuffled(made, case).batch(4).to_numpy(rank=r, world_size=size, threads=1) for r in range(size)]
        parts = [list(loader) for loader in loaders]
        assert len({len(part) for part in parts}) == 1, f"steps of {size} ranks"
        rows = [row for part in parts for batch in part for row in samples(batch, padding=False)]
        assert bag(rows) == bag(expected(made)), f"{size} ranks"


@each(ADDRESSED)
def test_global_batches_do_not_depend_on_the_world(made: Made) -> None:
    pipeline = made.pipeline.shuffle(seed=3).batch(global_size=12)
    alone = [samples(batch) for batch in pipeline.to_numpy()]
    for size in (2, 3, 4):
        ranks = [pipeline.to_numpy(rank=r, world_size=size, threads=1) for r in range(size)]
        steps = zip(*ranks, strict=True)
        assert [[row for b in step for row in samples(b, padding=False)] for step in steps] == alone


@each(CASES)
def test_resume_is_continue(case: Case, made: Made) -> None:
    """From the start, the middle and the end of an epoch, into the next one, with other threads."""
    pipeline = shuffled(made, case).batch(6)
    loader = pipeline.to_numpy(threads=2)
    steps, states = [], [loader.state_dict()]
    for _ in range(2):
        for batch in loader:
            steps.append(samples(batch))
            states.append(json.loads(json.dumps(loader.state_dict())))
    for at in (0, 1, 4, len(steps) // 2, len(steps) // 2 + 3, len(steps) - 1):
        other = pipeline.to_numpy(threads=1 + at % 3)
        other.load_state_dict(states[at])
        after = [samples(batch) for batch in itertools.islice(epochs(other), len(steps) - at)]
        assert after == steps[at:], f"step {at}"


def epochs(loader: infeed.Loader) -> Iterator[infeed.Batch]:
    """Batches across the ends of epochs."""
    while True:
        yield from loader


@each(CASES)
def test_resume_in_another_world(case: Case, made: Made) -> None:
    """Two ranks stop after two steps; one, three and four resume: the rest of the epoch comes once."""
    pipeline = shuffled(made, case).batch(global_size=12)

    def world(size: int) -> list[infeed.Loader]:
        return [pipeline.to_numpy(rank=r, world_size=size, threads=1) for r in range(size)]

    first = world(2)
    done = [row for loader in first for b in itertools.islice(loader, 2) for row in samples(b, padding=False)]
    states = [loader.state_dict() for loader in first]
    assert states[0] == states[1] and len(done) == 24
    for size in (1, 3, 4):
        loaders = world(size)
        for loader in loaders:
            loader.load_state_dict(states[0])
        left = [row for loader in loaders for b in loader for row in samples(b, padding=False)]
        assert bag(done) + bag(left) == bag(expected(made)), f"{size} ranks"


@each(CASES)
def test_take_and_skip(made: Made) -> None:
    rows = expected(made)
    assert flat(made.pipeline.take(9).batch(4).to_numpy()) == rows[:9]
    assert flat(made.pipeline.skip(40).batch(4).to_numpy()) == rows[40:]
    assert flat(made.pipeline.skip(20).take(11).batch(4).to_numpy()) == rows[20:31]


@each(ADDRESSED)
def test_splits_and_choices(made: Made) -> None:
    rows = expected(made)
    train, test = (flat(part.batch(4).to_numpy()) for part in made.pipeline.random_split([0.8, 0.2], seed=1))
    assert bag(train) + bag(test) == bag(rows)
    assert len(test) == int(0.2 * len(rows)), "as torch counts"
    assert flat(made.pipeline.subset([5, 3, 3, 50]).batch(4).to_numpy()) == [rows[i] for i in (5, 3, 3, 50)]
    assert flat(made.pipeline[::-1].batch(4).to_numpy()) == rows[::-1]
    both = infeed.concat([made.pipeline.take(3), made.pipeline.skip(51)])
    assert flat(both.batch(4).to_numpy()) == rows[:3] + rows[51:]


@each(STREAMS)
def test_streams_say_what_they_cannot(made: Made) -> None:
    with pytest.raises(TypeError, match="how many rows"):
        made.pipeline.rows()
    with pytest.raises((ValueError, infeed.PlanError), match="stream"):
        made.pipeline.random_split([0.5, 0.5])[0].batch(4).to_numpy()


@each(CASES)
def test_select(made: Made) -> None:
    batches = list(made.pipeline.select(made.one).batch(7).to_numpy())
    assert all(set(batch) == {made.one} for batch in batches)
    assert flat(batches) == [{made.one: row[made.one]} for row in expected(made)]
    with pytest.raises((ValueError, infeed.PlanError), match="nothing like it"):
        list(made.pipeline.select("nothing like it").batch(7).to_numpy())


@each(ADDRESSED)
def test_ledgers_prove_the_epoch(made: Made) -> None:
    pipeline = made.pipeline.shuffle(seed=3).batch(4)
    loaders = [pipeline.to_numpy(rank=r, world_size=3, threads=1) for r in range(3)]
    for loader in loaders:
        list(loader)
    assert pipeline.verify(loader.ledger() for loader in loaders)


@each(CASES)
def test_recipes_are_whole(made: Made, tmp_path: Path) -> None:
    """A pipeline is its recipe: saved and loaded, it gives the same rows."""
    copied = infeed.Pipeline(json.loads(json.dumps(made.pipeline.recipe)))
    assert flat(copied.batch(7).to_numpy()) == expected(made)
    assert "batch" in made.pipeline.batch(7).explain()


def test_unselected_columns_of_parquet_are_not_read(tmp_path: Path) -> None:
    """The pages of one column are overwritten: only readers of that column are affected."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    paths = [tmp_path / f"part-{k}.parquet" for k in range(len(PARTS))]
    for path, rows in zip(paths, parts(records()), strict=True):
        pq.write_table(pa.table(columns(rows)), path, row_group_size=10, compression="zstd")
        described = pq.read_metadata(path)
        whole = bytearray(path.read_bytes())
        for group in range(described.num_row_groups):
            chunk = described.row_group(group).column(described.schema.names.index("text"))
            begin = chunk.dictionary_page_offset or chunk.data_page_offset
            whole[begin : begin + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
        path.write_bytes(whole)
    for pipeline in (infeed.parquet(paths).select("id", "score"), infeed.parquet(paths, columns=["id", "score"])):
        rows = flat(pipeline.batch(7).to_numpy())
        assert rows == [{"id": row["id"], "score": row["score"]} for row in records()]
    with pytest.raises((infeed.SampleError, infeed.FormatError), match="part-0"):
        list(infeed.parquet(paths).batch(7).to_numpy())


def test_every_format_is_here() -> None:
    """The list above is the list of formats: one that is added needs its case."""
    named = " ".join(case.name for case in CASES)
    for word in (
        "megatron",
        "raw",
        "npy",
        "parquet",
        "arrow file",
        "arrow stream",
        "hugging",
        "avro",
        "sqlite",
        "jsonl",
    ):
        assert word in named
    for word in (
        "csv",
        "tsv",
        "line",
        "paragraph",
        "by file",
        "tfrecord",
        "mds",
        "lmdb",
        "gz",
        "zst",
        "xz",
        "bz2",
        "lz4",
    ):
        assert word in named
