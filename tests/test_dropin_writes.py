"""A program that writes to its data set while it iterates gets the batches that torch's loader gives it."""

from __future__ import annotations

import multiprocessing
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from sidebyside import LOADERS, alike  # noqa: E402
from torch.utils.data import ConcatDataset, Subset, TensorDataset  # noqa: E402

import infeed  # noqa: E402

ROWS = 400


def plain() -> tuple[Any, Any]:
    tensor = torch.zeros(ROWS, 3)
    return TensorDataset(tensor, torch.arange(ROWS)), tensor


def of_a_view() -> tuple[Any, Any]:
    tensor = torch.zeros(2 * ROWS, 3)
    return TensorDataset(tensor[ROWS:]), tensor


def of_parts() -> tuple[Any, Any]:
    tensor = torch.zeros(ROWS, 3)
    parts = [TensorDataset(torch.zeros(50, 3)), Subset(TensorDataset(tensor), range(0, ROWS, 2))]
    return ConcatDataset(parts), tensor


def epochs(kind: Any, make: Any, every: int, count: int, **options: Any) -> list[Any]:
    """The batches of some epochs with a write to all rows after every so many batches."""
    dataset, tensor = make()
    loader = kind(dataset, batch_size=4, **options)
    found = []
    for _ in range(count):
        for number, batch in enumerate(loader):
            found.append(batch)
            if number % every == every - 1:
                tensor += 1
    return found


@pytest.mark.parametrize("make", [plain, of_a_view, of_parts])
@pytest.mark.parametrize("every", [1, 7, 1000])
def test_a_write_between_batches_is_seen_by_the_next_one(make: Any, every: int) -> None:
    alike(*([epochs(kind, make, every, 2)] for kind in LOADERS))


def test_an_order_that_is_drawn_stays_the_same() -> None:
    both = []
    for kind in LOADERS:
        torch.manual_seed(3)
        both.append([epochs(kind, plain, 11, 2, shuffle=True)])
    alike(*both)


def test_such_a_loader_works_as_torch_from_then_on() -> None:
    dataset, tensor = plain()
    loader = infeed.torch.DataLoader(dataset, batch_size=4)
    assert loader.explain().startswith("native")
    for _ in loader:
        pass
    # Between epochs a program may write: nothing was read ahead.
    tensor += 1
    assert [float(batch[0].sum()) for batch in loader] == [12.0] * (ROWS // 4)
    assert loader.explain().startswith("native")
    for _ in loader:
        tensor += 1
    assert len(list(loader)) == ROWS // 4
    assert "writes to the tensors of the data set" in loader.explain()


def test_tensors_of_inference_mode() -> None:
    with torch.inference_mode():
        tensor = torch.arange(20.0)
    alike(*([list(kind(TensorDataset(tensor), batch_size=4))] for kind in LOADERS))


def _set(tensor: Any, turn: Any) -> None:
    for value in range(5):
        turn.wait()
        tensor.fill_(value)
        turn.wait()


def written_by_another_process(kind: Any) -> list[Any]:
    tensor = torch.full((ROWS,), -1.0).share_memory_()
    context = multiprocessing.get_context("fork")
    turn = context.Barrier(2)
    writer = context.Process(target=_set, args=(tensor, turn), daemon=True)
    writer.start()
    found = []
    steps = iter(kind(TensorDataset(tensor), batch_size=4))
    for _ in range(5):
        found.append(next(steps))
        turn.wait(60)
        turn.wait(60)
    found += list(steps)
    writer.join(60)
    return found


def test_writes_of_another_process_to_shared_tensors() -> None:
    alike(*([written_by_another_process(kind)] for kind in LOADERS))


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_read_shared_tensors_no_further_ahead_than_torch(workers: int) -> None:
    """All batches after those that torch may have fetched have the new value."""
    for kind in LOADERS:
        tensor = torch.zeros(ROWS).share_memory_()
        loader = kind(
            TensorDataset(tensor), 4, num_workers=workers, prefetch_factor=2, multiprocessing_context="fork"
        )
        steps = iter(loader)
        next(steps)
        tensor.fill_(1)
        rest = [float(batch[0].sum()) for batch in steps]
        assert set(rest[2 * workers + 1 :]) == {4.0}, kind
