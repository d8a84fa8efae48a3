"""What infeed recognises under torch's DataLoader: order, structure and refusals, compared with torch's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from PIL import Image  # noqa: E402
from recognising import EXACT, FIXED, MEAN, STD, UNIT, both, folder, images, same, taken  # noqa: E402
from torch.utils.data import (  # noqa: E402
    ConcatDataset,
    DataLoader,
    DistributedSampler,
    RandomSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)
from torchvision.datasets import ImageFolder  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

from infeed.torch.recognise import Refusal, Unknown, take_over  # noqa: E402


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder(tmp_path_factory.mktemp("folder"))


SAMPLERS = {
    "sequential": lambda data: {},
    "shuffle": lambda data: {"shuffle": True},
    "drop_last": lambda data: {"shuffle": True, "drop_last": True},
    "generator": lambda data: {"shuffle": True, "generator": torch.Generator().manual_seed(3)},
    "replacement": lambda data: {"sampler": RandomSampler(data, replacement=True, num_samples=50)},
    "subset": lambda data: {"sampler": SubsetRandomSampler([3, 1, 9, 12])},
    "weighted": lambda data: {"sampler": WeightedRandomSampler(np.arange(1, 22) / 21, 40)},
    "list": lambda data: {"sampler": [4, -1, torch.tensor(2), np.int64(20)]},
    "batches": lambda data: {"batch_sampler": [[1], [2, 3, 4, 5, 6, 7], [0, 0]], "batch_size": 1},
    "workers": lambda data: {"shuffle": True, "num_workers": 2},
    "persistent": lambda data: {"shuffle": True, "num_workers": 1, "persistent_workers": True},
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_order_of_indices_is_torchs(root: Path, name: str) -> None:
    data = images(root, *FIXED)
    make = SAMPLERS[name]
    same(*both(lambda: DataLoader(data, **{"batch_size": 4, **make(data)}), epochs=3), EXACT, UNIT)


def test_distributed_sampler(root: Path) -> None:
    data = images(root, *FIXED)

    def epochs(rank: int, native: bool) -> Iterator[Any]:
        sampler = DistributedSampler(data, num_replicas=2, rank=rank, seed=5)
        loader = DataLoader(data, batch_size=4, sampler=sampler)
        takeover = taken(loader) if native else None
        for epoch in range(3):
            sampler.set_epoch(epoch)
            yield from takeover.iterate(loader) if takeover else loader

    for rank in (0, 1):
        same(list(epochs(rank, False)), list(epochs(rank, True)), EXACT, UNIT)


def test_seeds_decide_the_random_transforms(root: Path) -> None:
    data = images(root, v2.RandomResizedCrop(24), v2.PILToTensor())

    def epochs(seed: int) -> list[Any]:
        loader = DataLoader(data, batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(seed))
        takeover = taken(loader)
        return [[batch[0] for batch in takeover.iterate(loader)] for _ in range(2)]

    first, again, other = epochs(1), epochs(1), epochs(2)
    same(first, again)
    assert not torch.equal(first[0][0], other[0][0])
    assert not torch.equal(first[0][0], first[1][0])


def test_subsets_and_joins(root: Path) -> None:
    data = images(root, *FIXED)
    parts = torch.utils.data.random_split(data, [10, 11], generator=torch.Generator().manual_seed(1))
    nested = ConcatDataset([Subset(parts[0], [3, 0, -1]), data, Subset(Subset(data, torch.arange(9, 3, -1)), [2])])
    same(*both(lambda: DataLoader(nested, batch_size=4, shuffle=True)), EXACT, UNIT)
    other = ImageFolder(str(root), transform=v2.Compose([v2.Resize((40, 48)), v2.ToImage(), *FIXED[2:3]]))
    same(*both(lambda: DataLoader(data + other, batch_size=4, shuffle=True)), EXACT, UNIT)


def test_samples_may_be_changed(root: Path) -> None:
    data = images(root, *FIXED)
    data.samples = [(path, label + 5) for path, label in data.samples[::-1] if "2" not in Path(path).name]
    same(*both(lambda: DataLoader(data, batch_size=4, shuffle=True)), EXACT, UNIT)


def test_changes_between_epochs_are_noticed(root: Path) -> None:
    data = images(root, *FIXED)
    loader = DataLoader(data, batch_size=4)
    takeover = taken(loader)
    same(list(loader), list(takeover.iterate(loader)), EXACT, UNIT)
    data.transform = v2.Compose([v2.Resize((20, 24)), v2.PILToTensor()])
    same(list(loader), list(takeover.iterate(loader)), 30)
    del data.samples[3:]
    same(list(loader), list(takeover.iterate(loader)), 30)
    data.transform = np.asarray
    with pytest.raises(Unknown, match="left in Python"):
        takeover.iterate(loader)


def test_a_loop_can_be_left_and_errors_come_in_order(root: Path) -> None:
    data = images(root, *FIXED)
    loader = DataLoader(data, batch_size=2, sampler=[0, 1, 2, 3, 99])
    takeover = taken(loader)
    for _ in takeover.iterate(loader):
        break
    batches = takeover.iterate(loader)
    assert [len(next(batches)[1]) for _ in range(2)] == [2, 2]
    with pytest.raises(IndexError, match="list index out of range"):
        next(batches)
    takeover.close()


def test_pictures_of_different_sizes_fail_as_in_torch(root: Path) -> None:
    data = images(root, v2.PILToTensor())
    loader = DataLoader(data, batch_size=2)
    takeover = taken(loader)
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        next(takeover.iterate(loader))
    one = DataLoader(data, batch_size=1)
    same(list(one), list(taken(one).iterate(one)), EXACT)


class Odd(ImageFolder):
    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(0)


class Named(ImageFolder):
    """Overrides nothing that makes samples."""


def loaders(root: Path) -> dict[str, tuple[Any, str]]:
    """Loaders that stay torch's, and a part of the reason."""
    data = images(root, *FIXED)
    of = lambda *transforms: DataLoader(images(root, *transforms))  # noqa: E731
    floats = v2.ToDtype(torch.float32, scale=True)
    return {
        "getitem": (DataLoader(Odd(str(root))), "Odd has a __getitem__ of its own"),
        "loader": (DataLoader(images(root, *FIXED, loader=Image.open)), "its loader is not torchvision's own"),
        "target": (DataLoader(images(root, *FIXED, target_transform=str)), "target_transform"),
        "collate": (DataLoader(data, collate_fn=list), "collate_fn"),
        "worker_init_fn": (DataLoader(data, num_workers=1, worker_init_fn=print), "worker_init_fn"),
        "single": (DataLoader(data, batch_size=None), "batch_size=None"),
        "lambda": (of(v2.Lambda(abs), v2.CenterCrop(9)), "Lambda.* is left in Python"),
        "pil": (of(v2.CenterCrop(9)), "stay PIL images"),
        "none": (DataLoader(ImageFolder(str(root))), "stay PIL images"),
        "floats": (of(v2.ToImage(), floats, v2.Resize((9, 9))), "it meets a tensor of floats"),
        "nearest": (of(v2.ToImage(), v2.Resize((9, 9), interpolation=0)), "interpolation 0"),
        "antialias": (of(v2.ToImage(), v2.Resize((9, 9), antialias=False)), "antialias"),
        "means": (of(v2.ToImage(), floats, v2.Normalize([0.5] * 2, [0.5] * 2)), "2 means and 2 deviations for 3"),
        "u8": (of(v2.ToImage(), v2.Normalize(MEAN, STD)), "meets a tensor of whole numbers"),
        "dtype": (of(v2.ToImage(), v2.ToDtype(torch.float16, scale=True)), "only torch.float32"),
        "mode": (of(v2.RandomCrop(9, padding=1, padding_mode="edge"), v2.ToImage()), "padding_mode='edge'"),
        "fill": (of(v2.Pad(1, fill={Image.Image: 3}), v2.ToImage()), "fill by type"),
        "function": (DataLoader(ImageFolder(str(root), transform=np.asarray)), "infeed does not know it"),
        "list": (DataLoader([1, 2, 3]), "builtins.list is a data set that only Python can read"),
        "grad": (DataLoader(TensorDataset(torch.ones(3, requires_grad=True))), "gradient"),
        "gaps": (DataLoader(TensorDataset(torch.ones(3, 4)[:, ::2])), "contiguous"),
        "complex": (DataLoader(TensorDataset(torch.ones(3, dtype=torch.complex64))), "complex64"),
        "kinds": (DataLoader(ConcatDataset([data, TensorDataset(torch.ones(3))])), "different kinds"),
        "within": (DataLoader(Subset(data, [99])), "outside of its data set"),
    }


CASES = (
    "getitem loader target collate worker_init_fn single lambda pil none floats nearest antialias means u8 dtype"
    " mode fill function list grad gaps complex kinds within"
)


@pytest.mark.parametrize("case", CASES.split())
def test_what_is_not_known_is_refused_with_the_reason(root: Path, case: str) -> None:
    loader, reason = loaders(root)[case]
    refusal = take_over(loader)
    assert isinstance(refusal, Refusal)
    assert not refusal
    assert re.search(reason, refusal.reason), refusal.reason


def test_samples_that_cannot_be_listed_are_refused(root: Path) -> None:
    for samples, reason in (
        ([(str(root / "a\nb.jpg"), 0)], "line break"),
        ([("/x.jpg", 1.5)], "not all whole numbers"),
        ([("/x\udc80.jpg", 1)], "not UTF-8"),
        ([], "no samples"),
    ):
        data = images(root, *FIXED)
        data.samples = samples
        assert reason in take_over(DataLoader(data, sampler=[0])).reason


def test_subclasses_that_change_nothing_are_known(root: Path) -> None:
    data = Named(str(root), transform=v2.Compose(FIXED))
    same(*both(lambda: DataLoader(data, batch_size=4, shuffle=True)), EXACT, UNIT)


def test_explain_names_every_part(root: Path) -> None:
    data = images(root, v2.RandomResizedCrop(32), v2.RandomHorizontalFlip(), *FIXED[1:])
    text = taken(DataLoader(Subset(data, [1, 2]), batch_size=2, num_workers=1)).explain()
    for part in ("ImageFolder of 21 files", "Subset of 2", "RandomResizedCrop(size=(32, 32)", "ToDtype", "Normalize"):
        assert part in text
    for part in ("torch's own sampler", "num_workers starts no processes", "same distributions"):
        assert part in text


def test_pinning_warns_as_torch_does(root: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a device to pin for")
    loader = DataLoader(images(root, *FIXED), batch_size=4, pin_memory=True)
    takeover = taken(loader)
    with pytest.warns(UserWarning, match="pin_memory.*no accelerator"):
        batches = takeover.iterate(loader)
    assert next(batches)[0].shape == (4, 3, 40, 48)
