"""Augmentations of other libraries inside ``map``: torchvision, albumentations, kornia."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from torchvision.transforms import v2

import infeed
from infeed import transforms as T

RNG = np.random.default_rng(3)
IMAGES = RNG.integers(0, 256, (12, 20, 24, 3), dtype=np.uint8)
MASKS = RNG.integers(0, 2, (12, 20, 24), dtype=np.uint8)

pytestmark = pytest.mark.timeout(120)


def images():
    return infeed.arrays(image=IMAGES, mask=MASKS, y=np.arange(12), images=["image"])


@pytest.mark.parametrize("workers", ["consumer", "threads", "processes"])
def test_torchvision(workers):
    pipe = images().map(
        T.CenterCrop(16), v2.RandomSolarize(100, p=1.0), v2.ToDtype(torch.float32, scale=True), on="image"
    )
    with pipe.batch(4).to_torch(workers=workers, num_workers=2, multiprocessing_context="spawn") as loader:
        batch = next(iter(loader))["image"]
    crop = torch.from_numpy(IMAGES[:4, 2:18, 4:20]).permute(0, 3, 1, 2)
    expected = v2.functional.to_dtype(v2.functional.solarize(crop, 100), torch.float32, scale=True)
    assert type(batch) is torch.Tensor
    torch.testing.assert_close(batch, expected)


def test_torchvision_is_seeded_per_row():
    pipe = images().shuffle(seed=2).map(v2.RandomHorizontalFlip(), v2.RandomRotation(30), on="image")

    def by_row(size, **how):
        with pipe.batch(size).to_torch(**how) as loader:
            return {int(y): image for batch in loader for y, image in zip(batch["y"], batch["image"], strict=True)}

    first = by_row(5, workers="consumer")
    second = by_row(3, workers="processes", num_workers=2, multiprocessing_context="spawn")
    assert all(torch.equal(first[y], second[y]) for y in range(12))


def test_albumentations():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        A = pytest.importorskip("albumentations")
    flip = A.Compose([A.HorizontalFlip(p=1.0)])
    batch = next(iter(images().map(flip, on=["image", "mask"]).batch(4).to_numpy()))
    np.testing.assert_array_equal(batch["image"], IMAGES[:4, :, ::-1])
    np.testing.assert_array_equal(batch["mask"], MASKS[:4, :, ::-1])
    random = images().shuffle(seed=1).map(A.Compose([A.RandomBrightnessContrast(p=1.0)]), on="image")
    found = []
    for size in (4, 6):
        with random.batch(size).to_numpy(workers="consumer") as loader:
            found.append({int(y): image for b in loader for y, image in zip(b["y"], b["image"], strict=True)})
    assert all(np.array_equal(found[0][y], found[1][y]) for y in range(12))
    assert not np.array_equal(found[0][0], IMAGES[0])


def test_kornia_on_batches():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        K = pytest.importorskip("kornia.augmentation")
    flip = K.RandomHorizontalFlip(p=1.0)

    def on_batch(batch):
        return flip(torch.from_numpy(batch))

    pipe = images().map(T.ToDtype("f32", scale=True), T.ToCHW(), on="image").batch(4).map_batch(on_batch, on="image")
    batch = next(iter(pipe.to_torch()))["image"]
    expected = torch.from_numpy(IMAGES[:4, :, ::-1].copy()).permute(0, 3, 1, 2).float() / 255
    torch.testing.assert_close(batch, expected)
