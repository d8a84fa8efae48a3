"""Folders of images with a table of them, as Hugging Face's imagefolder reads them, and folders of other files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import encode, photo

import infeed

KINDS = ("csv", "jsonl", "parquet")

# The reader of metadata.csv in `datasets` does not close its files.
LEAVES_FILES_OPEN = pytest.mark.filterwarnings("ignore::ResourceWarning")


def write(folder: Path, kind: str, rows: list[dict]) -> None:
    """A table of metadata."""
    path = folder / f"metadata.{kind}"
    if kind == "csv":
        with path.open("w", newline="") as file:
            out = csv.DictWriter(file, rows[0])
            out.writeheader()
            out.writerows(rows)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=4)


def make(folder: Path, kind: str, first: int = 0) -> list[dict]:
    """Ten images and masks, of which the table names nine, not in the order of their names."""
    for sub in ("a", "b", "masks"):
        (folder / sub).mkdir(parents=True, exist_ok=True)
    rows = []
    for n in range(first, first + 10):
        name = f"{'ab'[n % 2]}/{n}.png"
        (folder / name).write_bytes(encode(photo(20 + n, 16, n), "PNG"))
        (folder / "masks" / f"{n}.png").write_bytes(encode(photo(20 + n, 16, 50 + n), "PNG"))
        rows.append({"file_name": name, "text": f"photo {n}", "mask_file_name": f"masks/{n}.png", "n": n})
    rows = rows[::-1][:9]
    write(folder, kind, rows)
    return rows


@LEAVES_FILES_OPEN
@pytest.mark.parametrize("kind", KINDS)
def test_equals_hugging_face(tmp_path, monkeypatch, kind):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    root = tmp_path / "data"
    make(root, kind)
    theirs = datasets.load_dataset(
        "imagefolder", data_dir=str(root), split="train", cache_dir=str(tmp_path / "cache")
    )
    pipe = infeed.open(root).decode(image="rgb", mask="rgb").batch(4)
    rows = [
        {field: batch[field][at] for field in batch if not field.startswith("__")}
        for batch in pipe.to_numpy()
        for at in range(len(batch["n"]))
    ]
    assert len(rows) == len(theirs) == 9
    for ours, row in zip(rows, theirs, strict=True):
        assert list(ours) == list(row) == ["image", "text", "mask", "n"]
        assert (ours["text"], ours["n"]) == (row["text"], row["n"])
        assert np.array_equal(ours["image"], np.asarray(row["image"]))
        assert np.array_equal(ours["mask"], np.asarray(row["mask"]))


@LEAVES_FILES_OPEN
@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_a_data_set(tmp_path, monkeypatch, kind):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    root = tmp_path / "data"
    for first, part in ((0, "train"), (100, "test")):
        make(root / part, kind, first)
    with pytest.raises(ValueError, match=r"has the parts test, train: choose one with infeed\.folder"):
        infeed.open(root).plan  # noqa: B018
    for part in ("train", "test"):
        theirs = datasets.load_dataset(
            "imagefolder", data_dir=str(root), split=part, cache_dir=str(tmp_path / "cache")
        )
        pipe = infeed.folder(root, split=part).shuffle(seed=1).batch(3)
        for batch in pipe.to_numpy():
            for row, text, n in zip(batch["__row__"], batch["text"], batch["n"], strict=True):
                assert (text, n) == (theirs[int(row)]["text"], theirs[int(row)]["n"])
    with pytest.raises(FileNotFoundError, match=r"lost.*split="):
        infeed.folder(root, split="lost").plan  # noqa: B018
    with pytest.raises(FileNotFoundError, match="split="):
        infeed.folder(root / "train", split="../test").plan  # noqa: B018


def test_classes_stay_where_metadata_names_no_files(tmp_path):
    make(tmp_path, "jsonl")
    (tmp_path / "metadata.jsonl").write_text('{"licence": "free"}\n')
    assert infeed.open(tmp_path).classes == ["a", "b", "masks"]
    make(tmp_path, "jsonl")
    assert infeed.open(tmp_path).classes == []
    assert infeed.folder(tmp_path, metadata=False).classes == ["a", "b", "masks"]
    (batch,) = infeed.folder(tmp_path, field="photo").batch(9).to_numpy()
    assert "photo" in batch and "image" not in batch
    write(tmp_path, "csv", [{"file_name": "a/0.png"}])
    with pytest.raises(ValueError, match=r"metadata of several kinds.*metadata=False"):
        infeed.open(tmp_path).plan  # noqa: B018


def test_tables_of_metadata_in_sub_folders_are_joined(tmp_path):
    for first, part in ((0, "cats"), (100, "dogs")):
        make(tmp_path / part, "jsonl", first)
    (batch,) = infeed.open(tmp_path).batch(18).to_numpy()
    assert batch["n"].tolist() == [*range(9, 0, -1), *range(109, 100, -1)]


def test_metadata_names_no_files_elsewhere(tmp_path):
    root = tmp_path / "data"
    make(root, "jsonl")
    (tmp_path / "secret.png").write_bytes(b"secret")
    write(root, "jsonl", [{"file_name": name} for name in ("../secret.png", "/etc/passwd", "a/8.png", "a/lost.png")])
    with infeed.open(root).batch(1).to_numpy(on_error="skip") as loader:
        assert sum(len(batch["image"]) for batch in loader) == 1
        assert len(loader.stats()["bad"]) == 3


def test_class_folders_of_any_kind_of_file(tmp_path):
    for word in ("yes", "no"):
        (tmp_path / word).mkdir()
        for n in range(3):
            (tmp_path / word / f"{n}.wav").write_text(f"{word} {n}")
        (tmp_path / word / "notes.txt").write_text("no sound")
    for field, given in (("wav", {}), ("audio", {"field": "audio"})):
        pipe = infeed.folder(tmp_path, endings=".wav", **given)
        assert pipe.classes == ["no", "yes"]
        (batch,) = pipe.batch(6).to_numpy()
        assert [bytes(x) for x in batch[field]] == [f"{w} {n}".encode() for w in ("no", "yes") for n in range(3)]
        assert batch["label"].tolist() == [0, 0, 0, 1, 1, 1]
    (batch,) = infeed.files(str(tmp_path / "*/*.wav"), field="audio").batch(6).to_numpy()
    assert len(batch["audio"]) == 6
    (batch,) = infeed.files(str(tmp_path / "*/*.wav")).batch(6).to_numpy()
    assert len(batch["wav"]) == 6
    (batch,) = infeed.files(tmp_path).batch(8).to_numpy()
    assert len(batch["file"]) == 8
    assert infeed.files(str(tmp_path / "*/*.wav")).recipe["source"]["args"] == {}
    with pytest.raises(ValueError, match="there is such a field"):
        infeed.folder(tmp_path, endings=".wav", field="label").plan  # noqa: B018
    with pytest.raises(FileNotFoundError, match=r"no \.mp3 file in it"):
        infeed.folder(tmp_path, endings=".mp3").plan  # noqa: B018
