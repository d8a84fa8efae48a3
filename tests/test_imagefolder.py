"""Order and labels of image folders equal torchvision's."""

from __future__ import annotations

import os

import numpy as np
import pytest
from conftest import encode, jpeg, photo

import infeed


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("folder")
    for c, name in enumerate(["zebra", "ant", "Bee", "10", "9"]):
        for i in range(4):
            (root / name).mkdir(exist_ok=True)
            (root / name / f"img{11 - i}.jpg").write_bytes(jpeg(c * 10 + i))
    nested = root / "ant" / "more" / "deep"
    nested.mkdir(parents=True)
    (nested / "a.PNG").write_bytes(encode(photo(20, 20, 1), "PNG"))
    (root / "ant" / "notes.txt").write_text("not an image")
    (root / "zebra" / "x.gif").write_bytes(b"GIF89a")
    return root


def test_equals_torchvision(root):
    datasets = pytest.importorskip("torchvision.datasets")
    theirs = datasets.ImageFolder(str(root))
    pipe = infeed.open(root).batch(7)
    keys, labels = [], []
    for batch in pipe.to_numpy():
        keys += batch["__key__"]
        labels += batch["label"].tolist()
    assert pipe.classes == theirs.classes
    assert labels == [label for _, label in theirs.samples]
    assert keys == [os.path.relpath(path, root) for path, _ in theirs.samples]


def test_pixels_and_labels_stay_together(root):
    datasets = pytest.importorskip("torchvision.datasets")
    theirs = datasets.ImageFolder(str(root))
    pipe = infeed.folder(root).shuffle(seed=3).decode(image="rgb").batch(5)
    for batch in pipe.to_numpy():
        for row, image, label in zip(batch["__row__"], batch["image"], batch["label"], strict=True):
            want, want_label = theirs[int(row)]
            assert label == want_label
            assert np.array_equal(image, np.asarray(want))


def test_an_empty_class_is_named(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.jpg").write_bytes(jpeg(0))
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="empty"):
        infeed.open(tmp_path).explain()


def test_manifest_and_list(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.jpg").write_bytes(jpeg(i))
    (tmp_path / "list.tsv").write_text("path\tlabel\n2.jpg\tdog\n0.jpg\tcat\n1.jpg\tdog\n")
    pipe = infeed.open(tmp_path / "list.tsv").batch(3)
    (batch,) = pipe.to_numpy()
    assert pipe.classes == ["cat", "dog"] and batch["label"].tolist() == [1, 0, 1]
    assert bytes(batch["image"][0]) == jpeg(2)
    (batch,) = infeed.open([tmp_path / "1.jpg", tmp_path / "0.jpg"]).batch(2).to_numpy()
    assert [bytes(b) for b in batch["image"]] == [jpeg(1), jpeg(0)] and "label" not in batch
