"""Image folders with files and settings that Pillow treats in ways of its own: both loaders give the same."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from PIL import Image, ImageFile  # noqa: E402
from sidebyside import same  # noqa: E402
from torch.utils.data import ConcatDataset, Subset, TensorDataset  # noqa: E402
from torchvision import transforms as T  # noqa: E402
from torchvision.datasets import ImageFolder  # noqa: E402

PHOTO = Image.fromarray(np.random.default_rng(0).integers(0, 256, (6, 8, 3), dtype=np.uint8)).resize((80, 60))
GRAY16 = Image.fromarray(np.linspace(0, 4095, 4800).astype(np.uint16).reshape(60, 80))


def data_of(image: Any, format: str, **more: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, format=format, **more)
    return file.getvalue()


def folder(root: Path, files: dict[str, bytes], transform: Any = None) -> ImageFolder:
    (root / "a").mkdir(exist_ok=True)
    for name, data in files.items():
        (root / "a" / name).write_bytes(data)
    return ImageFolder(str(root), transform or T.Compose([T.Resize((60, 80)), T.PILToTensor()]))


JPEG = data_of(PHOTO, "JPEG")
PNG = data_of(PHOTO, "PNG")
FORMATS = ["PNG x.png", "TIFF x.tif", "PPM x.ppm", "PPM x.pgm", "BMP x.bmp", "WEBP x.webp", "JPEG x.jpg"]
# Pillow looks at the first bytes of a file, not at its name.
FORMATS += ["GIF x.png", "TGA x.png", "TIFF x.png", "PPM x.bmp"]
MODES = ("RGB", "L", "RGBA", "P", "1", "LA", "CMYK", "YCbCr", "LAB", "HSV", "F", "I", "I;16")


@pytest.mark.parametrize(
    ("format", "name"),
    [tuple(case.split()) for case in FORMATS],
    ids=FORMATS,
)
def test_every_mode_of_every_format(tmp_path: Path, format: str, name: str) -> None:
    made = 0
    for mode in MODES:
        image = GRAY16 if mode == "I;16" else PHOTO.convert("RGBA" if mode == "LAB" else mode)
        try:
            image = Image.merge("LAB", PHOTO.split()) if mode == "LAB" else image
            files = {name: data_of(image, format, **({"lossless": True} if format == "WEBP" else {}))}
        except (OSError, KeyError, ValueError):
            continue  # Pillow cannot write this mode in this format.
        same(lambda D, files=files: D(folder(tmp_path, files)))
        made += 1
    assert made > 2


@pytest.mark.parametrize("workers", [0, 2])
def test_one_image_of_16_bits_among_others(tmp_path: Path, workers: int) -> None:
    files = {f"{at:03}.png": PNG for at in range(100)} | {"050.png": data_of(GRAY16, "PNG")}
    data = folder(tmp_path, files)
    # The sample of files that is looked at first does not have it.
    found = same(lambda D: D(data, batch_size=7, num_workers=workers), native=True)
    assert len(found) == 15
    parts = ConcatDataset([Subset(data, range(20)), data])
    same(lambda D: D(parts, batch_size=7, shuffle=True), native=True)


def test_a_folder_of_16_bits_is_left_to_pillow(tmp_path: Path) -> None:
    files = {f"{at}.png": data_of(GRAY16, "PNG") for at in range(3)}
    same(lambda D: D(folder(tmp_path, files), num_workers=1), native=False)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("bad", [b"no picture", b"", JPEG[:-900], PNG[:-900], PNG[:300] + bytes(100) + PNG[400:]])
def test_a_bad_file_between_good_ones(tmp_path: Path, bad: bytes, workers: int) -> None:
    files = {f"{at:03}.jpg": JPEG for at in range(30)} | {"012.jpg": bad}
    data = folder(tmp_path, files)
    found = same(lambda D: D(data, batch_size=2, num_workers=workers), native=True)
    assert issubclass(found[6][0], OSError | SyntaxError) and len(found) == 15


@pytest.mark.parametrize("workers", [0, 2])
def test_a_missing_file(tmp_path: Path, workers: int) -> None:
    data = folder(tmp_path, {f"{at}.jpg": JPEG for at in range(6)})
    os.remove(tmp_path / "a" / "2.jpg")
    found = same(lambda D: D(data, batch_size=2, num_workers=workers))
    assert found[1][0] is FileNotFoundError and len(found) == 3


@pytest.mark.parametrize("load", [False, True])
def test_truncated_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, load: bool) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", load)
    whole = {"jpg": JPEG, "png": PNG, "bmp": data_of(PHOTO, "BMP"), "webp": data_of(PHOTO, "WEBP")}
    whole["progressive.jpg"] = data_of(PHOTO, "JPEG", progressive=True)
    cuts = (1, 2, 3, 4, 8, 12, 16, 40, 100, 200, 500)
    for name, data in whole.items():
        # Without the two bytes of its end, a JPEG has all its pixels: see below.
        usual = [cut for cut in cuts if load or cut > 2 or not name.endswith("jpg")]
        files = {f"{at:02}.{name}": data[:-cut] for at, cut in enumerate(usual)} | {f"99.{name}": data}
        root = tmp_path / name
        root.mkdir()
        same(lambda D, root=root, files=files: D(folder(root, files)))


def test_a_jpeg_without_its_end_is_read(tmp_path: Path) -> None:
    """The one difference that docs/recognised.md tells: Pillow refuses the file, although no pixel is missing."""
    import infeed.torch

    whole, cut = (folder(tmp_path, {"a.jpg": data}) for data in (JPEG, JPEG[:-2]))
    with infeed.torch.DataLoader(cut) as loader:
        found = next(iter(loader))[0]
    (tmp_path / "a" / "a.jpg").write_bytes(JPEG)
    assert torch.equal(found[0], whole[0][0])
    (tmp_path / "a" / "a.jpg").write_bytes(JPEG[:-2])
    with pytest.raises(OSError, match="truncated"):
        next(iter(torch.utils.data.DataLoader(cut)))


@pytest.mark.parametrize("most", [100, 3000, None, 10**9])
def test_max_image_pixels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int | None) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", most)
    data = folder(tmp_path, {"a.jpg": JPEG})
    with pytest.warns(Image.DecompressionBombWarning) if most == 3000 else monkeypatch.context():
        same(lambda D: D(data), native=most in (None, 10**9))


def test_random_transforms_beside_a_bad_file_leave_the_generator_alone(tmp_path: Path) -> None:
    import infeed.torch

    data = folder(tmp_path, {"0.jpg": JPEG, "1.jpg": b"bad", "2.png": data_of(GRAY16, "PNG"), "3.jpg": JPEG})
    data.transform = T.Compose([T.RandomResizedCrop(16), T.PILToTensor()])
    data.samples = [data.samples[at] for at in (0, 0, 3, 1, 0)]
    torch.manual_seed(5)
    before = torch.get_rng_state()
    with infeed.torch.DataLoader(data, generator=torch.Generator()) as loader:
        batches = iter(loader)
        for _ in range(3):
            next(batches)
        with pytest.raises(OSError, match="cannot identify image file"):
            next(batches)
        assert next(batches)[0].shape == (1, 3, 16, 16)
        assert "batches that torch's own code made so far: 1" in loader.explain()
    assert torch.equal(before, torch.get_rng_state())


def test_transforms_left_in_python_that_give_no_tensors(tmp_path: Path) -> None:
    data = folder(tmp_path, {f"{at}.jpg": JPEG for at in range(6)})
    for last in (np.array, lambda image: float(np.asarray(image).mean()), lambda image: {"size": image.size}):
        data.transform = T.Compose([T.CenterCrop(20), last])
        same(lambda D: D(data, batch_size=2))


def test_images_in_a_hugging_face_data_set() -> None:
    datasets = pytest.importorskip("datasets")

    def made(*images: bytes) -> Any:
        features = datasets.Features({"image": datasets.Image(mode="RGB"), "label": datasets.Value("int64")})
        rows = {"image": [{"bytes": data, "path": None} for data in images], "label": list(range(len(images)))}
        return datasets.Dataset.from_dict(rows, features=features).with_format("torch")

    same(lambda D: D(made(PNG, PNG, PNG), batch_size=2), native=True)
    same(lambda D: D(made(PNG, data_of(GRAY16, "PNG"), PNG), batch_size=2), native=False)
    found = same(lambda D: D(made(PNG, PNG, b"bad", PNG, PNG), batch_size=2), native=True)
    assert issubclass(found[1][0], OSError) and len(found) == 3


class Own(torch.utils.data.Sampler):  # type: ignore[type-arg]
    """A sampler that is not torch's: it is read no further ahead than torch reads it."""

    def __iter__(self) -> Any:
        return iter(range(30))

    def __len__(self) -> int:
        return 30


def twice(image: Any) -> Any:
    return image * 2


@pytest.mark.parametrize("workers", [0, 2])
def test_transforms_left_in_python_with_a_sampler_of_the_program(tmp_path: Path, workers: int) -> None:
    data = folder(tmp_path, {f"{at:02}.jpg": JPEG for at in range(30)} | {"07.jpg": b"bad"})
    data.transform = T.Compose([T.CenterCrop(20), T.PILToTensor(), twice])
    found = same(lambda D: D(data, batch_size=2, sampler=Own(), num_workers=workers), native=True)
    assert len(found) == 15 and isinstance(found[3], tuple)


FLOAT8 = [torch.float8_e4m3fn, torch.float8_e5m2]
MORE = [torch.uint16, torch.uint32, torch.uint64, torch.complex64, torch.bfloat16, torch.bool, torch.float16]


@pytest.mark.parametrize("dtype", FLOAT8 + MORE, ids=str)
def test_tensors_of_every_dtype(dtype: Any) -> None:
    data = TensorDataset(torch.arange(24).reshape(6, 4).to(dtype))
    same(lambda D: D(data, batch_size=4), native=dtype not in (*FLOAT8, torch.complex64))
