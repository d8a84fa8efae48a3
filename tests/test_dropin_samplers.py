"""Samplers that give more than indices, over data sets that run natively: infeed's loader does what torch's does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sidebyside import LOADERS, same  # noqa: E402
from torch.utils.data import BatchSampler, ConcatDataset, SequentialSampler, Subset, TensorDataset  # noqa: E402

DATA = TensorDataset(torch.arange(40).reshape(20, 2), torch.arange(20.0))


def test_an_empty_batch_raises_and_the_epoch_goes_on() -> None:
    found = same(lambda kind: kind(DATA, batch_sampler=[[0, 1], [], [3]]), native=True)
    assert found[1] == (IndexError, "list index out of range") and len(found) == 3


@pytest.mark.parametrize("data", [DATA, Subset(DATA, range(5, 20)), ConcatDataset([DATA, DATA])])
def test_many_empty_batches(data: Any) -> None:
    same(lambda kind: kind(data, batch_sampler=[[], [], [], [], [1, 2], []]), native=True)


@pytest.mark.parametrize(
    "sampler",
    [
        [[0, 1], [2, 3]],
        [[0, 1], 5, [2, 3], 6, 7],
        [(1, 0), (2, 1)],
        [slice(0, 3), slice(3, 6)],
        [torch.tensor([1, 2]), torch.tensor([3, 4])],
        [torch.arange(20) < 3],
        [np.arange(3), np.arange(3) + 4],
        [True, False],
        [np.True_],
        [torch.tensor(True)],
        [torch.tensor(4), np.int64(5), np.uint8(6), -1, -20],
        [None],
        ["0"],
        [1.0],
    ],
    ids=str,
)
def test_what_a_sampler_may_give(sampler: list[Any]) -> None:
    same(lambda kind: kind(DATA, sampler=sampler))


def test_a_batch_sampler_as_sampler() -> None:
    found = same(lambda kind: kind(DATA, sampler=BatchSampler(SequentialSampler(DATA), 5, False)), native=False)
    assert found[0][0].shape == (1, 5, 2)
    same(lambda kind: kind(DATA, sampler=BatchSampler(SequentialSampler(DATA), 5, False), batch_size=None))


@pytest.mark.parametrize("wrong", [20, -21, 10**30, True])
@pytest.mark.parametrize("data", [DATA, Subset(DATA, range(20)), ConcatDataset([Subset(DATA, range(20))])])
def test_indices_outside(wrong: Any, data: Any) -> None:
    same(lambda kind: kind(data, batch_sampler=[[0, 1], [2, wrong], [3, 4]]), native=True)


def test_errors_have_the_form_of_a_worker_s() -> None:
    found = same(lambda kind: kind(DATA, batch_sampler=[[0, 1], [2], [99], [3, 4]], num_workers=2), native=True)
    assert found[2] == (IndexError, "Caught IndexError in DataLoader worker process 0.")


@pytest.mark.parametrize("batches", [iter, tuple, np.asarray, torch.tensor], ids=lambda f: f.__name__)
def test_batches_that_are_no_lists(batches: Any) -> None:
    same(lambda kind: kind(DATA, batch_sampler=[batches([0, 1]), batches([2, 3])]), native=True)


@pytest.mark.parametrize("batch", [3, None, "01", {"a": 1}], ids=str)
def test_batches_that_are_none(batch: Any) -> None:
    same(lambda kind: kind(DATA, batch_sampler=[[0], batch, [1]]))


def test_a_sampler_that_raises() -> None:
    class Broken(torch.utils.data.Sampler):  # type: ignore[type-arg]
        def __iter__(self) -> Any:
            yield from range(6)
            raise RuntimeError("no more")

        def __len__(self) -> int:
            return 20

    found = same(lambda kind: kind(DATA, batch_size=2, sampler=Broken()), native=True)
    assert found[3:] == [(RuntimeError, "no more")]


class Adaptive(torch.utils.data.Sampler):  # type: ignore[type-arg]
    """Gives what the loop chose last."""

    def __init__(self) -> None:
        self.next = 0

    def __iter__(self) -> Any:
        for _ in range(18):
            yield self.next


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("size", [1, 3])
def test_a_sampler_that_looks_at_the_loop(workers: int, size: int) -> None:
    both = []
    for kind in LOADERS:
        sampler = Adaptive()
        seen = []
        loader = kind(DATA, sampler=sampler, batch_size=size, num_workers=workers)
        for batch in loader:
            seen.append(batch[1].tolist())
            sampler.next += 1
        both.append(seen)
        assert kind is torch.utils.data.DataLoader or loader.explain().startswith("native")
    assert both[0] == both[1]


def test_a_loader_that_cannot_be_native_for_long_says_so() -> None:
    import infeed.torch

    with infeed.torch.DataLoader(DATA, sampler=[0] * 8 + [[0, 1]] * 8 + [0] * 3) as loader:
        for _ in range(2):
            assert len(list(loader)) == 19
            assert loader.explain().startswith("native")
    with infeed.torch.DataLoader(DATA, sampler=[[0, 1]] * 10) as loader:
        first, second = list(loader), list(loader)
        assert len(first) == len(second) == 10
        assert "could not be made natively" in loader.explain()


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("shuffle", [None, True, False])
@pytest.mark.parametrize("kind", ["iter", "sharded", "map"])
def test_data_pipes_shuffle_as_in_torch(kind: str, shuffle: bool | None, workers: int) -> None:
    pipes = pytest.importorskip("torch.utils.data.datapipes")
    made = {
        "iter": lambda: pipes.iter.IterableWrapper(range(12)).shuffle(),
        "sharded": lambda: pipes.iter.IterableWrapper(range(12)).shuffle().sharding_filter(),
        "map": lambda: pipes.map.SequenceWrapper(range(12)).shuffle(),
    }[kind]
    for keep in {False, workers > 0}:
        options = {"batch_size": 3, "num_workers": workers, "shuffle": shuffle, "persistent_workers": keep}
        both = []
        for loader_class in LOADERS:
            torch.manual_seed(0)
            loader = loader_class(made(), **options)
            both.append([[batch.tolist() for batch in loader] for _ in range(2)] + [torch.rand(1).item()])
        assert both[0] == both[1]
