"""Data sets of torchvision: image folders, and images in memory."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import sources
from ...pipeline import Pipeline
from .chain import Chain, Form
from .leaf import Leaf, Same, unchanged, whole_numbers
from .own import is_own
from .pillow import Headers, check_settings
from .rest import Rest
from .transforms import translate
from .words import Unknown

FIELDS = ("image", "label")


def leaf(dataset: Any) -> Leaf | None:
    """The twin of a torchvision data set; None if it is not one of the known ones."""
    module = sys.modules.get("torchvision.datasets")
    if module is None:
        return None
    if isinstance(dataset, module.DatasetFolder):
        return _folder(dataset, module)
    if isinstance(dataset, module.CIFAR10):
        unchanged(dataset, module.CIFAR10)
        return _in_memory(dataset, dataset.data, dataset.targets, channels=3, as_int=False)
    if isinstance(dataset, module.MNIST):
        unchanged(dataset, module.MNIST)
        return _in_memory(dataset, dataset.data.numpy(), dataset.targets, channels=1)
    for name in ("SVHN", "STL10"):
        kind = getattr(module, name)
        if isinstance(dataset, kind):
            unchanged(dataset, kind)
            if dataset.labels is None:
                raise Unknown(f"{name} without labels gives samples that default_collate cannot collate")
            return _in_memory(dataset, dataset.data, dataset.labels, channels=3, planes=True)
    return None


def _chain(dataset: Any, channels: int, *, in_part: bool = False) -> Chain:
    if dataset.target_transform is not None:
        raise Unknown("it has a target_transform, which is left in Python")
    chain = translate(dataset.transform, Chain(Form.PIL, channels), in_part=in_part)
    if not chain.is_tensor and not chain.rest:
        raise Unknown(
            "its samples stay PIL images, which default_collate cannot collate: end with ToImage() or ToTensor()"
        )
    return chain


def _folder(dataset: Any, module: Any) -> Leaf:
    unchanged(dataset, module.DatasetFolder)
    folder = sys.modules["torchvision.datasets.folder"]
    usual = dataset.loader is folder.pil_loader
    if dataset.loader is folder.default_loader:
        usual = sys.modules["torchvision"].get_image_backend() == "PIL"
    if not usual or not all(is_own(f, "torchvision") for f in (dataset.loader, folder.pil_loader)):
        raise Unknown("its loader is not torchvision's own with Pillow, so only Python can read its files")
    # Reading and decoding cost most: taking over is worth it even if some transforms are left in Python.
    chain = _chain(dataset, 3, in_part=True)
    samples = list(dataset.samples)
    if not samples:
        raise Unknown("it has no samples")
    check_settings()
    headers: list[Headers] = []

    def make(place: str) -> Pipeline:
        if not headers:
            headers.append(Headers([os.fspath(path) for path, _ in samples]))
        return _manifest(samples, place).decode(image="rgb").map(*chain.steps, on="image")

    words = [f"{type(dataset).__name__} of {len(samples)} files -> infeed.manifest of exactly these files and labels"]
    words += ['files: opened and decoded natively (as Pillow\'s convert("RGB"))', *chain.words]
    rest = Rest(chain.rest, chain.form, "ToImage" in chain.read) if chain.rest else None
    mark = ("files", samples, chain.steps, rest)

    def check() -> Headers | None:
        return headers[0] if headers and headers[0].needed else None

    return Leaf(len(samples), make, FIELDS, None, chain.random, words, mark, rest=rest, check=check)


def _manifest(samples: Sequence[tuple[str, Any]], place: str) -> Pipeline:
    """A pipeline over files and labels; writes their list into a folder."""
    labels = whole_numbers([label for _, label in samples], "targets")
    paths = [os.path.abspath(os.fspath(path)) for path, _ in samples]
    for path in paths:
        if path != path.strip() or "\n" in path or "\r" in path:
            raise Unknown(f"the file name {path!r} has a line break or a space at its end, which a list cannot hold")
    text = "".join(f"{path}\t{label}\n" for path, label in zip(paths, labels.tolist(), strict=True))
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise Unknown("a file name is not UTF-8") from None
    handle, listed = tempfile.mkstemp(suffix=".tsv", dir=place)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    return sources.manifest(listed)


def _in_memory(
    dataset: Any, data: Any, labels: Any, *, channels: int, as_int: bool = True, planes: bool = False
) -> Leaf:
    chain = _chain(dataset, channels)
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8:
        raise Unknown("its images are not an array of u8")
    if data.ndim != (3 if channels == 1 else 4):
        raise Unknown(f"its images are an array of shape {data.shape}")
    kept = labels if isinstance(labels, np.ndarray) else Same(labels) if hasattr(labels, "numpy") else list(labels)

    def make(place: str) -> Pipeline:
        numbers = whole_numbers(_int64(labels) if as_int else labels, "targets")
        if len(numbers) != len(data):
            raise Unknown(f"it has {len(data)} images and {len(numbers)} targets")
        pixels = np.ascontiguousarray(data.transpose(0, 2, 3, 1)) if planes else data
        given = {"image": pixels, "label": numbers}
        return sources.arrays(given, images=["image"], name=type(dataset).__name__).map(*chain.steps, on="image")

    words = [f"{type(dataset).__name__} of {len(data)} images in memory -> infeed.arrays", *chain.words]
    mark = ("arrays", Same(data), Same(kept) if isinstance(kept, np.ndarray) else kept, chain.steps)
    return Leaf(len(data), make, FIELDS, None, chain.random, words, mark)


def _int64(labels: Any) -> Any:
    """Labels as int64, because the data set calls ``int()`` on them."""
    array = labels.numpy() if hasattr(labels, "numpy") else labels
    if isinstance(array, np.ndarray) and array.ndim == 1 and np.issubdtype(array.dtype, np.integer):
        return array.astype(np.int64)
    return array
