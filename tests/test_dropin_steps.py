"""What torch does at each step of an iterator besides making the batch: records for profilers, and a warning."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from loaders import Numbers  # noqa: E402
from sidebyside import LOADERS  # noqa: E402
from torch.profiler import ExecutionTraceObserver, profile  # noqa: E402
from torch.utils.data import IterableDataset, TensorDataset, dataloader  # noqa: E402


class Longer(IterableDataset):
    """Has more rows than it says."""

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Any:
        return iter(range(6))


def make(kind: Any, way: str) -> Any:
    if way == "native":
        return kind(TensorDataset(torch.arange(20.0)), batch_size=4)
    workers = {"num_workers": 2, "multiprocessing_context": "fork"} if way == "workers" else {}
    return kind(Numbers(), batch_size=4, **workers)


def is_step(name: str) -> bool:
    return name.startswith("enumerate(DataLoader)#") and name.endswith(".__next__")


@pytest.mark.parametrize("way", ["local", "workers", "native"])
def test_profilers_see_every_step(way: str, tmp_path: Path) -> None:
    counts = []
    for kind in LOADERS:
        loader = make(kind, way)
        with profile() as seen:
            list(loader)
        found = [event for event in seen.profiler.kineto_results.events() if is_step(event.name())]
        # An observer of its own, without the profiler.
        observer = ExecutionTraceObserver()
        observer.register_callback(str(tmp_path / "trace.json"))
        observer.start()
        list(loader)
        observer.stop()
        observer.unregister_callback()
        nodes = json.loads((tmp_path / "trace.json").read_text())["nodes"]
        traced = sum(is_step(node["name"]) for node in nodes)
        counts.append((len(found), [event.is_user_annotation() for event in found], traced))
    assert counts[0] == counts[1]
    assert counts[0][0] == counts[0][2] == 6


@pytest.mark.parametrize("way", ["local", "workers", "native"])
def test_a_replaced_step_is_used(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original = dataloader._BaseDataLoaderIter.__next__
    steps: list[Any] = []

    def step(self: Any) -> Any:
        steps.append(self)
        return original(self)

    monkeypatch.setattr(dataloader._BaseDataLoaderIter, "__next__", step)
    counts = []
    for kind in LOADERS:
        steps.clear()
        list(make(kind, way))
        counts.append(len(steps))
    assert counts == [6, 6]


@pytest.mark.parametrize("workers", [0, 1])
def test_the_warning_of_a_wrong_length(workers: int) -> None:
    both = []
    for kind in LOADERS:
        loader = kind(Longer(), batch_size=None, num_workers=workers)
        assert len(loader) == 3
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert list(loader) == list(range(6))
        told = [str(warning.message).partition(" was reported")[2] for warning in caught]
        both.append([words for words in told if words])
    assert both[0] == both[1]
    assert len(both[0]) == 3
