"""What a program changes on a loader that ran natively, or replaces in the libraries, is honoured as torch does."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from PIL import Image  # noqa: E402
from sidebyside import LOADERS, alike, outcomes, same  # noqa: E402
from torch.utils.data import TensorDataset  # noqa: E402
from torch.utils.data._utils import collate  # noqa: E402
from torchvision import transforms as v1  # noqa: E402
from torchvision.datasets import CIFAR10, ImageFolder  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import infeed  # noqa: E402


def numbers() -> TensorDataset:
    return TensorDataset(torch.arange(10.0), torch.arange(10))


def pixels(transform: Any) -> Any:
    """A CIFAR10 that was not downloaded."""
    data = CIFAR10.__new__(CIFAR10)
    data.data = np.random.default_rng(0).integers(0, 256, (12, 32, 32, 3), dtype=np.uint8)
    data.targets = list(range(12))
    data.transform, data.target_transform, data.transforms, data.root = transform, None, None, "/"
    return data


def changed(make: Any, change: Any, *, native: bool) -> Any:
    """Two epochs with a change between them, with both loaders."""
    both = []
    for kind in LOADERS:
        loader = make(kind)
        first = outcomes(loader)
        if kind is infeed.torch.DataLoader:
            assert loader.explain().startswith("native")
        change(loader)
        both.append([first, outcomes(loader)])
        if kind is infeed.torch.DataLoader:
            assert loader.explain().startswith("native") == native, loader.explain()
    alike(*both)
    return both[0][1]


def count(samples: list[Any]) -> int:
    return len(samples)


def test_collate_fn() -> None:
    found = changed(lambda D: D(numbers(), batch_size=5), lambda d: setattr(d, "collate_fn", count), native=False)
    assert found == [5, 5]


@pytest.mark.parametrize("workers", [0, 2])
def test_worker_init_fn(workers: int) -> None:
    def raising(number: int) -> None:
        raise ValueError("called")

    found = changed(
        lambda D: D(numbers(), batch_size=5, num_workers=workers),
        lambda d: setattr(d, "worker_init_fn", raising),
        native=False,
    )
    assert (found[0][0] is ValueError) == (workers > 0)


def test_a_transform_that_only_python_knows() -> None:
    def change(loader: Any) -> None:
        loader.dataset.transform = lambda image: np.asarray(image).mean()

    changed(lambda D: D(pixels(v2.PILToTensor()), batch_size=4), change, native=False)


def test_tensors() -> None:
    def other(loader: Any) -> None:
        loader.dataset.tensors = (torch.ones(4).to(torch.float8_e4m3fn),)

    changed(lambda D: D(numbers(), batch_size=5), other, native=False)

    def memory(loader: Any) -> None:
        loader.dataset.tensors[0].data = torch.arange(10.0) + 100

    assert changed(lambda D: D(numbers(), batch_size=5), memory, native=True)[0][0][0] == 100


def test_native_true_refuses_a_change() -> None:
    loader = infeed.torch.DataLoader(numbers(), native=True)
    list(loader)
    loader.collate_fn = count
    with pytest.raises(infeed.PlanError, match="collate_fn is not torch's default_collate"):
        iter(loader)


def test_default_collate(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = collate.default_collate

    @functools.wraps(kept)
    def mine(batch: Any, **more: Any) -> Any:
        return "mine", kept(batch, **more)

    monkeypatch.setattr(collate, "default_collate", mine)
    found = same(lambda D: D(numbers(), batch_size=5), native=False)
    assert found[0][0] == "mine"


@pytest.mark.parametrize("kind", [torch.Tensor, tuple], ids=str)
def test_default_collate_fn_map(monkeypatch: pytest.MonkeyPatch, kind: type) -> None:
    monkeypatch.setitem(collate.default_collate_fn_map, kind, lambda batch, *, collate_fn_map=None: len(batch))
    same(lambda D: D(numbers(), batch_size=5), native=False)


def test_pillow_s_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    Image.new("RGB", (8, 8), (9, 9, 9)).save(tmp_path / "a" / "x.png")
    data = ImageFolder(str(tmp_path), v1.PILToTensor())
    same(lambda D: D(data), native=True)
    monkeypatch.setattr(Image, "open", lambda *_: Image.new("RGB", (4, 4), (1, 2, 3)))
    assert same(lambda D: D(data), native=False)[0][0].shape == (1, 3, 4, 4)


@pytest.mark.parametrize("module", [v1, v2])
def test_forward_of_one_transform(module: Any) -> None:
    flip = module.RandomHorizontalFlip(1.0)
    data = pixels(module.Compose([flip, module.PILToTensor()]))
    same(lambda D: D(data, batch_size=4), native=True)
    flip.forward = lambda image: image
    same(lambda D: D(data, batch_size=4), native=False)


def test_a_hook_on_a_transform() -> None:
    flip = v2.RandomHorizontalFlip(1.0)
    data = pixels(torch.nn.Sequential(flip, v2.PILToTensor()))
    same(lambda D: D(data, batch_size=4), native=True)
    flip.register_forward_hook(lambda module, given, made: given[0])
    same(lambda D: D(data, batch_size=4), native=False)


def test_a_method_of_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pixels(v1.Compose([v1.PILToTensor()]))
    same(lambda D: D(data, batch_size=4), native=True)
    with monkeypatch.context() as patch:
        patch.setattr(v1.PILToTensor, "__call__", lambda self, image: torch.zeros(3))
        same(lambda D: D(data, batch_size=4), native=False)
    with monkeypatch.context() as patch:
        patch.setattr(CIFAR10, "__getitem__", lambda self, index: index)
        same(lambda D: D(data, batch_size=4), native=False)
    data.__getitems__ = lambda indices: [(index, 1) for index in indices]
    same(lambda D: D(data, batch_size=4), native=False)
