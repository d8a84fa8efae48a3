"""Loaders of a program's own data sets do not load what recognises others, and still say why they are not native."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from loaders import Numbers, Rows  # noqa: E402
from torch.utils.data import BatchSampler, ConcatDataset, Dataset, Subset, TensorDataset  # noqa: E402

from infeed.torch import DataLoader  # noqa: E402
from infeed.torch.candidates import is_candidate  # noqa: E402
from infeed.torch.recognise import Refusal, take_over  # noqa: E402

OWN = """
import sys, torch
from torch.utils.data import ConcatDataset, Dataset, Subset
from infeed.torch import DataLoader

class Own(Dataset):
    def __len__(self): return 8
    def __getitem__(self, i): return torch.tensor(i)

for dataset in (Own(), Subset(Own(), range(4)), ConcatDataset([Own(), Own()])):
    assert len(list(DataLoader(dataset, 4))) == len(dataset) // 4
assert "infeed.torch.recognise" not in sys.modules
assert "infeed.pipeline" not in sys.modules
assert "only Python can read" in DataLoader(Own(), 4).explain()
"""


def test_own_data_sets_need_no_recogniser() -> None:
    done = subprocess.run([sys.executable, "-c", OWN], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


class Raises(Dataset[Any]):
    """Looking at it raises."""

    def __getattr__(self, name: str) -> Any:
        raise KeyError(name)

    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> int:
        return i


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (Rows, {}),
        (Rows, {"worker_init_fn": print}),
        (Rows, {"batch_size": None}),
        (Rows, {"collate_fn": list}),
        (Numbers, {"sampler": BatchSampler(range(4), 2, False)}),
        (lambda: Subset(Numbers(4), [1, 2]), {}),
        (Raises, {}),
    ],
)
def test_the_reason_is_the_recogniser_s(make: Any, options: dict[str, Any]) -> None:
    dataset = make()
    loader = DataLoader(dataset, **options)
    assert not is_candidate(dataset)
    refusal = take_over(loader)
    assert isinstance(refusal, Refusal)
    iter(loader)
    assert loader.stats()["reason"] == refusal.reason
    assert refusal.reason in loader.explain()
    assert not loader.stats()["native"]


def test_all_that_is_recognised_is_looked_at() -> None:
    vision = pytest.importorskip("torchvision.datasets")
    kinds = [TensorDataset, vision.ImageFolder, vision.DatasetFolder, vision.CIFAR10, vision.CIFAR100, vision.MNIST]
    kinds += [vision.FashionMNIST, vision.SVHN, vision.STL10]
    kinds += [pytest.importorskip("datasets").Dataset, pytest.importorskip("webdataset").WebDataset]
    for kind in kinds:
        mine = type("Mine", (kind,), {})
        for one in (kind, mine):
            dataset = one.__new__(one)
            assert is_candidate(dataset), one
            assert is_candidate(Subset(dataset, [])), one
    known = TensorDataset(torch.zeros(3))
    assert is_candidate(ConcatDataset([known, Subset(known, [0])]))
    assert not is_candidate(ConcatDataset([known, Numbers()]))
