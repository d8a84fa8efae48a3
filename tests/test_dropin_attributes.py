"""Private names of torch's iterators that training frameworks use: they are there for a native run, too."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from sidebyside import LOADERS, alike  # noqa: E402
from torch.utils.data import TensorDataset  # noqa: E402

pytestmark = [
    # A test that hangs fails; nothing else depends on time.
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]

BOTH = pytest.mark.parametrize("kind", LOADERS, ids=["torch", "infeed"])


def begun(kind: Any, **options: Any) -> tuple[Any, Any]:
    """A loader over a data set that infeed recognises, and its iterator after the first batch."""
    loader = kind(TensorDataset(torch.arange(40)), batch_size=2, **options)
    steps = iter(loader)
    alike(next(steps), [torch.tensor([0, 1])])
    return loader, steps


@BOTH
@pytest.mark.parametrize("persistent", [False, True])
def test_all_workers_have_ended_once_the_iterator_is_gone(kind: Any, persistent: bool) -> None:
    loader, steps = begun(kind, num_workers=2, persistent_workers=persistent)
    workers = steps._workers
    del loader, steps
    for worker in workers:
        worker.join(60)
    assert not any(worker.is_alive() for worker in workers)


@BOTH
@pytest.mark.parametrize("options", [{}, {"persistent_workers": True}], ids=["once", "persistent"])
@pytest.mark.parametrize("native", [True, False], ids=["native", "not native"])
def test_a_pass_that_was_shut_down_is_over(kind: Any, options: dict[str, Any], native: bool) -> None:
    if kind is LOADERS[1]:
        options = {**options, "native": native}
    loader, steps = begun(kind, num_workers=2, **options)
    assert not steps._shutdown
    steps._shutdown_workers()
    steps._shutdown_workers()
    assert steps._shutdown and not any(worker.is_alive() for worker in steps._workers)
    # Workers were at most two batches ahead of the first one.
    assert len(list(steps)) <= 4 and list(steps) == []
    loader._iterator = None
    assert len(list(loader)) == 20


@pytest.mark.parametrize("native", [True, False], ids=["native", "not native"])
def test_a_pass_that_was_shut_down_continues_from_its_state(native: bool) -> None:
    loader, steps = begun(LOADERS[1], num_workers=2, native=native)
    steps._shutdown_workers()
    left = 19 - len(list(steps))
    other = LOADERS[1](TensorDataset(torch.arange(40)), batch_size=2, num_workers=2, native=native)
    other.load_state_dict(loader.state_dict())
    rest = list(other)
    assert len(rest) == left
    alike(rest[-1], [torch.tensor([38, 39])])


@BOTH
def test_a_loader_without_workers_has_none(kind: Any) -> None:
    _, steps = begun(kind)
    assert not hasattr(steps, "_workers")


def test_the_loader_runs_natively() -> None:
    loader, _ = begun(LOADERS[1], num_workers=2)
    assert loader.explain().startswith("native")
