"""Chains of which a part is left in Python: the native part runs natively, the rest behind it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from PIL import ImageOps
from recognising import EXACT, TENSOR, both, folder, same
from torch.utils.data import ConcatDataset, Subset
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

from infeed.torch import DataLoader

pytestmark = pytest.mark.timeout(200)
FLOATS = v2.ToDtype(torch.float32, scale=True)


def on_pil(image):
    return ImageOps.flip(image)


def on_tensor(image):
    assert isinstance(image, torch.Tensor)
    return image * 2


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    return folder(tmp_path_factory.mktemp("rest"))


CHAINS = {
    "pil": ([v2.CenterCrop(24), v2.Lambda(on_pil), v2.ToImage(), FLOATS], EXACT),
    "u8": ([v2.Resize((30, 31)), v2.ToImage(), v2.Lambda(on_tensor), FLOATS], EXACT),
    "float": ([v2.Resize((30, 31)), v2.ToImage(), FLOATS, v2.Lambda(on_tensor)], EXACT),
    "old": ([v2.CenterCrop(24), v2.PILToTensor(), v2.RandomInvert(1.0), FLOATS], TENSOR),
}


@pytest.mark.parametrize("kind", CHAINS)
@pytest.mark.parametrize("workers", [0, 2])
def test_the_rest_runs_in_python(root: Path, kind: str, workers: int) -> None:
    transforms, bound = CHAINS[kind]
    data = ImageFolder(str(root), transform=v2.Compose(transforms))
    with DataLoader(data, batch_size=4, num_workers=workers, native=True) as loader:
        told = loader.explain()
        mine = [batch for _ in range(2) for batch in loader]
    theirs = [b for _ in range(2) for b in torch.utils.data.DataLoader(data, batch_size=4)]
    same(theirs, mine, bound, 2 / 255)
    assert "-> left in Python" in told
    assert ("2 worker processes" if workers else "this process") in told


def test_order_and_shuffling_stay_torch_s(root: Path) -> None:
    data = ImageFolder(str(root), transform=v2.Compose(CHAINS["float"][0]))
    same(
        *both(lambda: torch.utils.data.DataLoader(Subset(data, range(2, 18)), batch_size=5, shuffle=True)),
        EXACT,
        2 / 255,
    )


def test_parts_must_leave_the_same(root: Path) -> None:
    one, other = (ImageFolder(str(root), transform=v2.Compose(CHAINS[kind][0])) for kind in ("u8", "float"))
    with DataLoader(ConcatDataset([one, other]), batch_size=4) as loader:
        assert "different things" in loader.explain()


def test_what_stays_an_image_cannot_be_collated(root: Path) -> None:
    data = ImageFolder(str(root), transform=v2.Compose([v2.CenterCrop(9), v2.Lambda(on_pil)]))
    with DataLoader(data, batch_size=4) as loader, pytest.raises(TypeError, match="batch must contain tensors"):
        next(iter(loader))
