"""Augmentations against the installed torchvision: pixels with fixed parameters, and what random ones do on average."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest
import torch
from conftest import encode, photo
from PIL import Image
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

import infeed
from infeed import transforms as T

SIZES = [(64, 48), (41, 57), (33, 33)]


@pytest.fixture(scope="module")
def images() -> list[bytes]:
    return [encode(photo(w, h, i), "PNG") for i, (w, h) in enumerate(SIZES)]


def load(tmp_path, images: list[bytes], *transforms, decode="rgb"):
    paths = [tmp_path / f"{i:05d}.png" for i in range(len(images))]
    for path, data in zip(paths, images, strict=True):
        path.write_bytes(data)
    (batch,) = infeed.files(paths).decode(image=decode).map(*transforms).batch(len(images)).to_numpy()
    return batch["image"]


def same(tmp_path, images, ours, theirs, *, bound=0, decode="rgb"):
    """Ours equals torchvision's on PIL images, or differs by `bound` levels at most."""
    mode = {"rgb": "RGB", "gray": "L"}[decode]
    for got, data in zip(load(tmp_path, images, ours, decode=decode), images, strict=True):
        expected = np.asarray(theirs(Image.open(io.BytesIO(data)).convert(mode)))
        expected = expected.reshape(expected.shape[0], expected.shape[1], -1)
        assert got.shape == expected.shape
        worst = np.abs(got.astype(int) - expected.astype(int)).max()
        assert worst <= bound, f"{worst} levels"


def both(name: str, *args, **kwargs):
    """The transform of this name and arguments from infeed and from torchvision."""
    return getattr(T, name)(*args, **kwargs), getattr(v2, name)(*args, **kwargs)


EXACT = [
    ("ColorJitter", {"brightness": (1.3, 1.3)}),
    ("ColorJitter", {"brightness": (0.2, 0.2)}),
    ("ColorJitter", {"contrast": (1.7, 1.7)}),
    ("ColorJitter", {"contrast": (0.4, 0.4)}),
    ("ColorJitter", {"saturation": (0.3, 0.3)}),
    ("ColorJitter", {"saturation": (1.8, 1.8)}),
    ("ColorJitter", {"hue": (0.12, 0.12)}),
    ("ColorJitter", {"hue": (-0.4, -0.4)}),
    ("Grayscale", {}),
    ("Grayscale", {"num_output_channels": 3}),
    ("RandomGrayscale", {"p": 1.0}),
    ("RandomRotation", {"degrees": (30, 30)}),
    ("RandomRotation", {"degrees": (-77.5, -77.5), "interpolation": v2.InterpolationMode.BILINEAR, "fill": 100}),
    ("RandomRotation", {"degrees": (15, 15), "expand": True, "interpolation": "bilinear"}),
    ("RandomRotation", {"degrees": (90, 90)}),
    ("RandomRotation", {"degrees": (180, 180), "expand": True}),
    ("RandomRotation", {"degrees": (45, 45), "center": (3, 9), "fill": (1, 2, 3)}),
    ("RandomAffine", {"degrees": (20, 20), "scale": (0.75, 0.75), "shear": (8, 8)}),
    ("RandomAffine", {"degrees": (0, 0), "scale": (1.5, 1.5)}),
    ("RandomAffine", {"degrees": (5, 5), "shear": (3, 3, -6, -6), "interpolation": "bilinear", "fill": 7}),
    ("RandomAffine", {"degrees": (200, 200), "center": (10, 20), "interpolation": "bilinear"}),
    ("RandomPerspective", {"distortion_scale": 0.0, "p": 1.0, "interpolation": "nearest"}),
    ("RandomPosterize", {"bits": 3, "p": 1.0}),
    ("RandomSolarize", {"threshold": 99.5, "p": 1.0}),
    ("RandomAdjustSharpness", {"sharpness_factor": 2.5, "p": 1.0}),
    ("RandomAdjustSharpness", {"sharpness_factor": 0.0, "p": 1.0}),
    ("RandomAutocontrast", {"p": 1.0}),
    ("RandomEqualize", {"p": 1.0}),
]


@pytest.mark.parametrize(("name", "args"), EXACT, ids=[f"{n}-{i}" for i, (n, _) in enumerate(EXACT)])
def test_equal_to_pillow(tmp_path, images, name, args):
    same(tmp_path, images, *both(name, **args))


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("ColorJitter", {"brightness": (1.3, 1.3), "contrast": (0.7, 0.7), "saturation": (2, 2), "hue": (0.2, 0.2)}),
        ("Grayscale", {"num_output_channels": 3}),
        ("RandomRotation", {"degrees": (30, 30), "interpolation": "bilinear"}),
        ("RandomEqualize", {"p": 1.0}),
        ("RandomAdjustSharpness", {"sharpness_factor": 2, "p": 1.0}),
    ],
)
def test_gray_images(tmp_path, images, name, args):
    if name == "ColorJitter":  # the order of the two that matter to gray is random: leave one out
        args = {**args, "contrast": None}
    same(tmp_path, images, *both(name, **args), decode="gray")


@pytest.mark.parametrize(("kernel", "sigma"), [(3, 0.8), (5, (1.5, 1.5)), ((9, 3), 2.0), (23, 1.1), (23, 5.0)])
def test_blur_within_one_level(tmp_path, images, kernel, sigma):
    same(tmp_path, images, *both("GaussianBlur", kernel, sigma), bound=1)


def test_all_colours_through_hue(tmp_path):
    """Every 17th red, every green and blue: Pillow's way through HSV has many roundings."""
    r, g, b = np.meshgrid(np.arange(0, 256, 17), np.arange(256), np.arange(256), indexing="ij")
    data = encode(np.stack([r, g, b], -1).reshape(1024, 1024, 3).astype(np.uint8), "PNG")
    for hue in (0.0001, 0.3, -0.17):
        same(tmp_path, [data], *both("ColorJitter", hue=(hue, hue)))


TENSOR = [
    # Bounds against torchvision on tensors, which rounds and samples in its own ways: CORRECTNESS.md lists them.
    ("ColorJitter", {"brightness": (1.3, 1.3)}, 1),
    ("ColorJitter", {"contrast": (0.6, 0.6)}, 1),
    ("ColorJitter", {"saturation": (1.7, 1.7)}, 2),
    ("ColorJitter", {"hue": (0.12, 0.12)}, 12),
    ("RandomGrayscale", {"p": 1.0}, 1),
    ("RandomPosterize", {"bits": 3, "p": 1.0}, 0),
    ("RandomSolarize", {"threshold": 100, "p": 1.0}, 0),
    ("RandomAutocontrast", {"p": 1.0}, 1),
    ("RandomEqualize", {"p": 1.0}, 0),
    ("RandomAdjustSharpness", {"sharpness_factor": 2.0, "p": 1.0}, 1),
    ("GaussianBlur", {"kernel_size": 9, "sigma": 2.0}, 1),
]


@pytest.mark.parametrize(("name", "args", "bound"), TENSOR, ids=[f"{n}-{i}" for i, (n, *_) in enumerate(TENSOR)])
def test_close_to_tensors(tmp_path, images, name, args, bound):
    ours, theirs = both(name, **args)

    def on_tensor(image):
        return F.to_pil_image(theirs(F.pil_to_tensor(image)))

    same(tmp_path, images, ours, on_tensor, bound=bound)


def many(tmp_path, image: np.ndarray, rows: int, *transforms) -> np.ndarray:
    return np.stack(load(tmp_path, [encode(image, "PNG")] * rows, *transforms))


def test_brightness_varies_as_torchvision(tmp_path):
    flat = np.full((8, 8, 3), 100, np.uint8)
    levels = many(tmp_path, flat, 600, T.ColorJitter(brightness=0.4))[:, 0, 0, 0].astype(float)
    assert levels.min() >= 59 and levels.max() <= 140
    assert abs(levels.mean() - 99.5) < 4 and abs(levels.std() - 80 / 12**0.5) < 2


def test_probabilities(tmp_path):
    image = photo(16, 16, 1)
    for transform, p in [(T.RandomGrayscale(), 0.1), (T.RandomSolarize(100), 0.5), (T.RandomErasing(p=0.8), 0.8)]:
        out = many(tmp_path, image, 500, transform)
        changed = np.mean([not np.array_equal(o, image) for o in out])
        assert abs(changed - p) < 0.08, transform


def test_policies_agree_on_average(tmp_path):
    """Mean and spread over many rows, against torchvision's own draws."""
    image = photo(40, 40, 3)
    torch.manual_seed(0)
    for name in ("RandAugment", "TrivialAugmentWide", "AutoAugment"):
        ours, theirs = both(name)
        got = many(tmp_path, image, 500, ours).astype(float)
        pil = Image.fromarray(image)
        expected = np.stack([np.asarray(theirs(pil)) for _ in range(500)]).astype(float)
        assert abs(got.mean() - expected.mean()) < 8, name
        assert abs(got.std(axis=0).mean() - expected.std(axis=0).mean()) < 8, name
        unchanged = [np.mean([np.array_equal(o, image) for o in many]) for many in (got, expected)]
        assert abs(unchanged[0] - unchanged[1]) < 0.1, (name, unchanged)


def test_perspective_agrees_on_average(tmp_path):
    image = np.full((40, 50, 3), 255, np.uint8)
    torch.manual_seed(0)
    got = many(tmp_path, image, 400, T.RandomPerspective(0.6, p=1.0)).astype(float)
    theirs = v2.RandomPerspective(0.6, p=1.0)
    expected = np.stack([np.asarray(theirs(Image.fromarray(image))) for _ in range(400)]).astype(float)
    assert abs(got.mean() - expected.mean()) < 5
    assert np.abs(got.mean(axis=0) - expected.mean(axis=0)).max() < 35


def test_erasing_after_normalize(tmp_path):
    image = photo(32, 24, 2)
    normalize = T.Normalize((0.5, 0.4, 0.3), (0.2, 0.2, 0.2))
    plain = many(tmp_path, image, 60, normalize)
    erased = many(tmp_path, image, 60, normalize, T.RandomErasing(p=1.0, value=(1.5, -2.0, 0.25)))
    for before, after in zip(plain, erased, strict=True):
        mask = np.stack([after[c] == v for c, v in enumerate((1.5, -2.0, 0.25))]).all(axis=0)
        rows, columns = np.where(mask)
        assert mask[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1].all(), "one rectangle"
        assert np.array_equal(before[:, ~mask], after[:, ~mask])
    shares = (erased == -2.0).any(axis=1).mean(axis=(1, 2))
    assert abs(shares.mean() - 0.17) < 0.05


def test_erasing_with_noise(tmp_path):
    image = np.zeros((64, 64, 3), np.uint8)
    out = many(tmp_path, image, 100, T.ToDtype("f32", scale=True), T.RandomErasing(p=1.0, value="random"), T.ToCHW())
    noise = out[out != 0]
    assert abs(noise.mean()) < 0.02 and abs(noise.std() - 1) < 0.02


def test_image_and_mask_stay_aligned(tmp_path):
    """One map over two fields draws the same numbers for both."""
    with infeed.ShardWriter(tmp_path / "a-%03d.tar") as out:
        for i in range(30):
            data = encode(photo(40, 30, i), "PNG")
            out.write({"__key__": f"{i:03d}", "png": data, "mask.png": data})
    geometry = [
        T.RandomRotation(40),
        T.RandomAffine(10, translate=(0.2, 0.2), scale=(0.8, 1.2), shear=5),
        T.RandomPerspective(p=0.7),
        T.RandomErasing(p=0.5),
    ]
    pipe = infeed.tar(tmp_path / "a-000.tar").decode(**{"png": "rgb", "mask.png": "rgb"})
    (batch,) = pipe.map(*geometry, on=["png", "mask.png"]).batch(30).to_numpy()
    assert np.array_equal(batch["png"], batch["mask.png"])
    plain = infeed.tar(tmp_path / "a-000.tar").decode(png="rgb").batch(30).to_numpy()
    assert not np.array_equal(batch["png"], next(iter(plain))["png"])


def test_pixels_come_before_normalize(tmp_path, images):
    with pytest.raises(infeed.PlanError, match="put it before Normalize"):
        load(tmp_path, images, T.Normalize((0.5,), (0.5,)), T.ColorJitter(0.4))
    with pytest.raises(ValueError, match="interpolation must be nearest or bilinear"):
        load(tmp_path, images, T.RandomRotation(10, interpolation="bicubic"))


def test_in_the_usual_pipeline(tmp_path, images):
    """Decode, crop, augment, normalise, erase: one batch, and the same one again."""
    steps = [
        T.RandomResizedCrop(24),
        T.RandomHorizontalFlip(),
        T.RandAugment(),
        T.ColorJitter(0.4, 0.4, 0.4, 0.1),
        T.GaussianBlur(5),
        T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        T.RandomErasing(0.5),
    ]
    first, second = load(tmp_path, images, *steps), load(tmp_path, images, *steps)
    assert first.shape == (3, 3, 24, 24) and first.dtype == np.float32
    assert np.array_equal(first, second)


def test_random_apply_is_all_or_none(tmp_path):
    """Each image is jittered and blurred, or left alone; calls of single images agree with the description."""
    jitter = T.ColorJitter((1.5, 1.5))
    apply = T.RandomApply([jitter, T.RandomHorizontalFlip(1.0)], p=0.8)
    assert (
        repr(apply)
        == "RandomApply(transforms=[ColorJitter(brightness=[1.5, 1.5]), RandomHorizontalFlip(p=1.0)], p=0.8)"
    )
    assert pickle.loads(pickle.dumps(apply)) == apply
    image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    with infeed.ShardWriter(tmp_path / "data-%02d.tar") as out:
        for row in range(400):
            out.write({"__key__": f"{row:04d}", "png": image})
    plain = infeed.open(str(tmp_path / "data-*.tar")).decode(png="rgb")
    (batch,) = plain.seed(1).map(apply, on="png").batch(400).to_numpy()
    done = np.asarray(jitter(image))[:, ::-1]
    changed = [bool((one == done).all()) for one in batch["png"]]
    assert all(same or (one == image).all() for same, one in zip(changed, batch["png"], strict=True))
    assert 290 < sum(changed) < 350
    with pytest.raises(ValueError, match="outside of RandomApply"):
        _ = plain.map(T.RandomApply([T.Resize((2, 2))])).plan
    with pytest.raises(ValueError, match=r"Python functions go into map\(\)"):
        _ = plain.map(T.RandomApply([print])).plan
