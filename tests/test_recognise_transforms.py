"""Transforms of torchvision and their native twins, compared pixel by pixel or in distribution."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from PIL import Image  # noqa: E402
from recognising import EXACT, FIXED, MEAN, STD, TENSOR, UNIT, both, folder, images, same, taken  # noqa: E402
from torch.utils.data import DataLoader, Subset  # noqa: E402
from torchvision import transforms as v1  # noqa: E402
from torchvision.datasets import ImageFolder  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import infeed  # noqa: E402
from infeed.torch.recognise import take_over  # noqa: E402


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder(tmp_path_factory.mktemp("folder"))


@pytest.mark.parametrize(
    "transform, levels, scale",
    [
        (v2.Compose(FIXED), EXACT, UNIT),
        (v1.Compose([v1.Resize((40, 48)), v1.ToTensor(), v1.Normalize(MEAN, STD)]), EXACT, UNIT),
        (v1.Compose([v1.Resize((40, 48)), v1.ToTensor()]), EXACT, 1 / 255),
        (v1.Compose([v1.Resize(44), v1.CenterCrop(40), v1.ToTensor()]), EXACT, 1 / 255),
        (v1.Compose([v1.CenterCrop((120, 30)), v1.ToTensor()]), EXACT, 1 / 255),
        (v1.Compose([v1.ToTensor(), v1.CenterCrop(50), v1.RandomVerticalFlip(1.0)]), EXACT, 1 / 255),
        (v1.Compose([v1.Resize(50, max_size=52), v1.CenterCrop(50), v1.PILToTensor()]), EXACT, 1),
        (v2.Compose([v2.Resize((50, 60), interpolation=v2.InterpolationMode.BICUBIC), v2.PILToTensor()]), EXACT, 1),
        (v2.Compose([v2.Resize((50, 60), interpolation=v2.InterpolationMode.NEAREST), v2.PILToTensor()]), EXACT, 1),
        (v2.Compose([v2.Resize((50, 60), interpolation=Image.LANCZOS), v2.ToImage()]), EXACT, 1),
        (v2.Compose([v2.ToImage(), v2.Resize((50, 60)), v2.RandomHorizontalFlip(1.0)]), TENSOR, 1),
        (v2.Compose([v2.ToImage(), v2.Resize((50, 60), interpolation=3), v2.ToPureTensor()]), 2 * TENSOR, 1),
        (v2.Compose([v2.CenterCrop(40), v2.ToImage(), v2.ToDtype(torch.float32)]), EXACT, 1),
        (v2.Compose([v2.CenterCrop(40), v2.PILToTensor(), v2.ConvertImageDtype(torch.float32)]), EXACT, 1 / 255),
        (v1.Compose([v1.CenterCrop(40), v1.PILToTensor(), v1.ConvertImageDtype(torch.float32)]), EXACT, 1 / 255),
        (v1.Compose([v1.CenterCrop(40), v1.Pad((1, 2), fill=(4, 5, 6)), v1.PILToTensor()]), EXACT, 1),
        (v2.Compose([v2.CenterCrop(40), v2.Pad([1, 2, 3, 4], fill=9), v2.ToImage()]), EXACT, 1),
        (v2.Compose([v2.CenterCrop(40), v2.Pad(3, padding_mode="reflect"), v2.ToImage()]), EXACT, 1),
        (v1.Compose([v1.CenterCrop(40), v1.Pad(3, padding_mode="symmetric"), v1.PILToTensor()]), EXACT, 1),
        (v1.Compose([v1.CenterCrop(40), v1.Pad(3, padding_mode="edge"), v1.PILToTensor()]), EXACT, 1),
        (torch.nn.Sequential(v2.CenterCrop(40), v2.Identity(), torch.nn.Identity(), v2.PILToTensor()), EXACT, 1),
        (v1.Compose([v1.CenterCrop(40), v1.Compose([v1.RandomCrop(40), v1.ToTensor()])]), EXACT, 1 / 255),
        (v1.Compose([v1.ToTensor(), v1.CenterCrop(40), v1.Normalize([0.5], [0.25])]), EXACT, 4 / 255),
        (v2.Compose([v2.CenterCrop(60), v2.RandomResizedCrop(44, (1, 1), (1, 1)), v2.PILToTensor()]), EXACT, 1),
    ],
)
def test_transforms_without_chance_give_the_same_pixels(
    root: Path, transform: Any, levels: float, scale: float
) -> None:
    data = ImageFolder(str(root), transform=transform)

    # In one process torch's transforms draw from the generator that also shuffles; with one of its own they cannot.
    def make() -> Any:
        return DataLoader(data, batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(1))

    same(*both(make, draws=False), levels, scale)


def test_weights_bring_their_transforms(root: Path) -> None:
    from torchvision.transforms._presets import ImageClassification

    data = ImageFolder(str(root), transform=ImageClassification(crop_size=40, resize_size=48))
    same(*both(lambda: DataLoader(data, batch_size=4)), EXACT, UNIT)


def colour_counts(batches: list[Any]) -> Any:
    return torch.cat([batch[0].float().mean(dim=(2, 3)) for batch in batches])


@pytest.mark.parametrize(
    "transform",
    [
        v2.RandomResizedCrop(24, scale=(0.2, 0.6)),
        v1.RandomResizedCrop(24, ratio=(0.5, 2.0)),
        v2.RandomCrop(24, padding=12, fill=(255, 0, 0)),
        v2.RandomCrop(24, padding=[0, 20], fill=255),
        v1.RandomCrop(24, padding=(3, 20), fill=(255, 0, 9)),
        v1.RandomCrop((90, 24), pad_if_needed=True, fill=255),
        v2.RandomCrop((90, 24), pad_if_needed=True, fill=255),
    ],
)
def test_random_crops_have_the_same_distribution(root: Path, transform: Any) -> None:
    data = images(root, v2.CenterCrop(60), transform, v2.PILToTensor())
    chosen = Subset(data, [3])
    order = [0] * 8
    torchs = []
    for _ in range(40):
        torchs += list(DataLoader(chosen, batch_size=8, sampler=order))
    loader = DataLoader(chosen, batch_size=8, sampler=order)
    takeover = taken(loader)
    ours = [batch for _ in range(40) for batch in takeover.iterate(loader)]
    a, b = colour_counts(torchs), colour_counts(ours)
    assert len(a) == len(b) == 320
    # The mean of 320 draws is within a quarter of a standard deviation in all but one of some thousand runs.
    assert ((a.mean(0) - b.mean(0)).abs() <= 0.35 * a.std(0) + 0.5).all()
    assert ((a.std(0) - b.std(0)).abs() <= 0.35 * a.std(0) + 0.5).all()


def test_flips_come_half_of_the_time(root: Path) -> None:
    data = images(root, v2.CenterCrop(40), v2.RandomHorizontalFlip(), v2.RandomVerticalFlip(0.25), v2.PILToTensor())
    whole = images(root, v2.CenterCrop(40), v2.PILToTensor())[5][0]
    loader = DataLoader(Subset(data, [5] * 8), batch_size=8)
    takeover = taken(loader)
    drawn = torch.cat([batch[0] for _ in range(100) for batch in takeover.iterate(loader)])
    faces = [whole, whole.flip(2), whole.flip(1), whole.flip((1, 2))]
    counts = [sum(torch.equal(image, face) for image in drawn) for face in faces]
    assert sum(counts) == 800
    for count, share in zip(counts, (0.375, 0.375, 0.125, 0.125), strict=True):
        assert abs(count - 800 * share) < 75


def test_repeated_rows_are_drawn_anew(root: Path) -> None:
    data = images(root, v2.RandomCrop(20), v2.PILToTensor())
    loader = DataLoader(data, batch_size=8, sampler=[2] * 8)
    takeover = taken(loader)
    (batch,) = takeover.iterate(loader)
    assert len({image.numpy().tobytes() for image in batch[0]}) == 8
    assert "8 different draws" in takeover.explain()


def test_augmentations_have_twins_when_infeed_has_them(root: Path) -> None:
    transforms = {
        "ColorJitter": v2.ColorJitter(0.2, 0.2, 0.2, 0.1),
        "RandomGrayscale": v1.RandomGrayscale(),
        "Grayscale": v2.Grayscale(3),
        "GaussianBlur": v2.GaussianBlur(3),
        "RandomRotation": v2.RandomRotation(20),
        "RandomAffine": v1.RandomAffine(10, (0.1, 0.1), (0.8, 1.2), 5),
        "RandomPerspective": v2.RandomPerspective(),
        "RandAugment": v2.RandAugment(),
        "TrivialAugmentWide": v1.TrivialAugmentWide(),
        "AutoAugment": v2.AutoAugment(),
        "RandomPosterize": v2.RandomPosterize(4),
        "RandomSolarize": v2.RandomSolarize(128),
        "RandomAdjustSharpness": v2.RandomAdjustSharpness(2),
        "RandomAutocontrast": v2.RandomAutocontrast(),
        "RandomEqualize": v1.RandomEqualize(),
    }
    for name, transform in transforms.items():
        loader = DataLoader(images(root, v2.CenterCrop(32), transform, v2.ToImage()), batch_size=4)
        takeover = take_over(loader)
        if name in infeed.transforms.__all__:
            assert takeover, takeover
            assert next(takeover.iterate(loader))[0].shape == next(iter(loader))[0].shape
        else:
            assert f"infeed has no {name}" in takeover.reason
    hue = DataLoader(images(root, v2.CenterCrop(32), v2.ToImage(), v2.ColorJitter(hue=0.1)), batch_size=4)
    told = take_over(hue).explain()
    assert "hue of tensors" in told and "-> left in Python" in told
    erase = v2.RandomErasing(1.0, scale=(0.1, 0.1), ratio=(1, 1))
    loader = DataLoader(images(root, *FIXED, erase), batch_size=4)
    takeover = take_over(loader)
    if "RandomErasing" in infeed.transforms.__all__:
        assert ((next(takeover.iterate(loader))[0] == 0).flatten(1).sum(1) > 3 * 80).all()
    else:
        assert "infeed has no RandomErasing" in takeover.reason
