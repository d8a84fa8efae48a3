"""Annotations are those that pycocotools and torchvision read; masks are pycocotools' pixel for pixel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from annotation_sets import instances, polygon, runs, write_coco, write_voc, write_yolo

import infeed

tools = pytest.importorskip("pycocotools.mask")
COCO = pytest.importorskip("pycocotools.coco").COCO
# pycocotools' own arrays are older than NumPy 2.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def samples(pipeline: infeed.Pipeline) -> list[dict[str, Any]]:
    """All samples of a pipeline, in order."""
    out = []
    for batch in pipeline.batch(4).to_numpy():
        out += [{name: column[i] for name, column in batch.items()} for i in range(len(batch["file_name"]))]
    return out


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, Path]:
    return write_coco(tmp_path_factory.mktemp("coco"), instances(40))


def test_coco_is_what_pycocotools_reads(made):
    folder, file = made
    theirs = COCO(str(file))
    rows = samples(infeed.coco(folder, file).decode(image="rgb", masks="instance_masks"))
    listed = json.loads(file.read_text())["images"]
    assert [row["file_name"] for row in rows] == [image["file_name"] for image in listed]
    assert any(len(row["labels"]) == 0 for row in rows)
    for row in rows:
        notes = theirs.loadAnns(theirs.getAnnIds(imgIds=[int(row["image_id"])]))
        xywh = np.array([note["bbox"] for note in notes]).reshape(-1, 4)
        corners = np.concatenate([xywh[:, :2], xywh[:, :2] + xywh[:, 2:]], 1).astype(np.float32)
        assert row["boxes"].dtype == np.float32 and np.array_equal(row["boxes"], corners)
        assert row["labels"].dtype == np.int64 and row["labels"].tolist() == [n["category_id"] for n in notes]
        assert np.array_equal(row["area"], np.array([n["area"] for n in notes], np.float32))
        assert row["iscrowd"].tolist() == [n["iscrowd"] for n in notes]
        points = np.array([n["keypoints"] for n in notes], np.float32).reshape(-1, 5, 3)
        assert np.array_equal(row["keypoints"], points)
        image = theirs.imgs[int(row["image_id"])]
        assert row["image"].shape == (image["height"], image["width"], 3)
        masks = np.array([theirs.annToMask(note) for note in notes], np.uint8)
        assert np.array_equal(row["masks"], masks.reshape(-1, image["height"], image["width"]))


def test_coco_has_the_samples_of_torchvision(made):
    datasets = pytest.importorskip("torchvision.datasets")
    folder, file = made
    theirs = datasets.CocoDetection(str(folder), str(file))
    ours = sorted(samples(infeed.coco(folder, file).decode(image="rgb")), key=lambda row: int(row["image_id"]))
    assert [int(row["image_id"]) for row in ours] == theirs.ids
    for row, (image, notes) in zip(ours, theirs, strict=True):
        assert np.array_equal(row["image"], np.asarray(image))
        assert row["labels"].tolist() == [note["category_id"] for note in notes]


@pytest.mark.parametrize("wild", [False, True], ids=["inside", "wild"])
def test_a_thousand_polygons(tmp_path, wild):
    rng = np.random.default_rng(5 + wild)
    images, notes, wanted = [], [], []
    for i in range(100):
        height, width = (int(n) for n in rng.integers(1, 60, 2))
        images.append({"id": i, "file_name": f"{i}.jpg", "height": height, "width": width})
        for k in range(10):
            shapes = [polygon(rng, height, width, wild=wild) for _ in range(1 + k % 3)]
            notes.append({"id": len(notes), "image_id": i, "segmentation": shapes})
            wanted.append(tools.decode(tools.merge(tools.frPyObjects(shapes, height, width))))
    folder, file = write_coco(tmp_path, {"images": images, "annotations": notes})
    rows = samples(infeed.coco(folder, file, fields=["file_name", "masks"]).decode(masks="instance_masks"))
    ours = [mask for row in rows for mask in row["masks"]]
    assert len(ours) == 1000 and sum(int(mask.sum()) for mask in ours) > 1000
    different = [i for i, (a, b) in enumerate(zip(ours, wanted, strict=True)) if not np.array_equal(a, b)]
    assert not different, notes[different[0]]


def test_a_thousand_run_lengths(tmp_path):
    rng = np.random.default_rng(9)
    images, notes, wanted = [], [], []
    for i in range(50):
        height, width = (int(n) for n in rng.integers(1, 70, 2))
        images.append({"id": i, "file_name": f"{i}.jpg", "height": height, "width": width})
        for k in range(20):
            mask = (rng.random((height, width)) < rng.random()).astype(np.uint8)
            mask = mask.repeat(int(rng.integers(1, 9)), 0)[:height] if k % 2 else mask
            shape: dict[str, Any] = {"size": [height, width], "counts": runs(mask)}
            packed = tools.encode(np.asfortranarray(mask))
            assert tools.frPyObjects(shape, height, width) == packed
            if k % 3:
                shape = {"size": [height, width], "counts": packed["counts"].decode()}
            notes.append({"id": len(notes), "image_id": i, "segmentation": shape})
            wanted.append(mask)
    folder, file = write_coco(tmp_path, {"images": images, "annotations": notes})
    rows = samples(infeed.coco(folder, file, fields=["file_name", "masks"]).decode(masks="instance_masks"))
    ours = [mask for row in rows for mask in row["masks"]]
    assert all(np.array_equal(a, b) for a, b in zip(ours, wanted, strict=True))


def test_captions(tmp_path):
    images = [{"id": i, "file_name": f"{i}.jpg"} for i in range(3)]
    notes = [{"id": i, "image_id": i % 2, "caption": f'number "{i}"\nüñ'} for i in range(5)]
    folder, file = write_coco(tmp_path, {"images": images, "annotations": notes})
    theirs = COCO(str(file))
    pipeline = infeed.coco(folder, file)
    rows = samples(pipeline)
    assert set(rows[0]) >= {"image", "file_name", "image_id", "captions"} and "boxes" not in rows[0]
    for row in rows:
        wanted = [n["caption"] for n in theirs.loadAnns(theirs.getAnnIds(imgIds=[int(row["image_id"])]))]
        assert row["captions"] == wanted


def test_labels_crowds_and_empty_images(made):
    folder, file = made
    theirs = COCO(str(file))
    plain = infeed.coco(folder, file)
    assert plain.classes[90] == "class 90" and plain.classes[0] == "" and len(plain.classes) == 91
    dense = infeed.coco(folder, file, labels="contiguous", crowd=False, empty=False)
    assert dense.classes == [theirs.cats[n]["name"] for n in sorted(theirs.cats)]
    place = {n: i for i, n in enumerate(sorted(theirs.cats))}
    rows = samples(dense)
    assert 0 < len(rows) < len(theirs.imgs)
    for row in rows:
        notes = theirs.loadAnns(theirs.getAnnIds(imgIds=[int(row["image_id"])], iscrowd=False))
        assert row["labels"].tolist() == [place[n["category_id"]] for n in notes] != []
        assert not row["iscrowd"].any()


def test_shuffled_rows_keep_their_annotations(made):
    folder, file = made
    plain = {row["file_name"]: row["boxes"] for row in samples(infeed.coco(folder, file))}
    mixed = samples(infeed.coco(folder, file).shuffle(seed=3))
    assert [row["file_name"] for row in mixed] != list(plain)
    assert all(np.array_equal(row["boxes"], plain[row["file_name"]]) for row in mixed)


def test_voc_is_what_torchvision_reads(tmp_path):
    datasets = pytest.importorskip("torchvision.datasets")
    base = write_voc(tmp_path)
    theirs = datasets.VOCDetection(str(tmp_path), year="2012", image_set="train")
    pipeline = infeed.voc(base, split="train")
    rows = samples(pipeline.decode(image="rgb"))
    assert len(rows) == len(theirs) == 6 and len(pipeline.classes) == 20
    for row, (image, target) in zip(rows, theirs, strict=True):
        assert np.array_equal(row["image"], np.asarray(image))
        objects = target["annotation"].get("object", [])
        boxes = [[float(o["bndbox"][k]) for k in ("xmin", "ymin", "xmax", "ymax")] for o in objects]
        assert row["boxes"].tolist() == boxes
        assert [pipeline.classes[n] for n in row["labels"]] == [o["name"] for o in objects]
        assert row["difficult"].tolist() == [int(o["difficult"]) for o in objects]
        assert row["truncated"].tolist() == [int(o["truncated"]) for o in objects]
    moved = samples(infeed.voc(base, zero_based=True, difficult=False, empty=False))
    assert len(moved) == 4 and moved[0]["boxes"].tolist() == [[0, 2, 29, 38]]


def test_yolo_is_what_its_files_say(tmp_path):
    yaml = pytest.importorskip("yaml")
    file = write_yolo(tmp_path)
    names = yaml.safe_load(file.read_text())["names"]
    for place in (tmp_path, file):
        pipeline = infeed.yolo(place, split="train")
        rows = samples(pipeline)
        assert pipeline.classes == [names[i] for i in sorted(names)]
        assert [Path(row["file_name"]).name for row in rows] == [f"{i}.jpg" for i in range(5)]
        for i, row in enumerate(rows):
            labels = tmp_path / "labels/train" / f"{i}.txt"
            lines = np.loadtxt(labels, ndmin=2) if labels.exists() else np.zeros((0, 5))
            assert row["labels"].tolist() == lines[:, 0].tolist()
            assert np.array_equal(row["boxes"], lines[:, 1:].astype(np.float32))
    assert len(samples(infeed.yolo(file, empty=False))) == 3


def test_yolo_polygons_and_keypoints(tmp_path):
    write_yolo(tmp_path)
    for i in range(5):
        (tmp_path / "labels/train" / f"{i}.txt").write_text("1 0.1 0.2 0.5 0.2 0.5 0.6 0.1 0.6\n")
    row = samples(infeed.yolo(tmp_path, task="segment"))[0]
    assert np.allclose(row["segments"], [[0.1, 0.2, 0.5, 0.2, 0.5, 0.6, 0.1, 0.6]])
    flipped = infeed.yolo(tmp_path, task="segment").decode(image="rgb").map(infeed.transforms.RandomHorizontalFlip())
    with pytest.raises(infeed.PlanError, match="`segments` cannot follow"):
        flipped.batch(1, ragged="list").to_numpy()
    assert np.allclose(row["boxes"], [[0.3, 0.4, 0.4, 0.4]])
    row = samples(infeed.yolo(tmp_path, task="pose", keypoints=[2, 2], outside="clip"))[0]
    assert np.allclose(row["keypoints"], [[[0.5, 0.6, 2], [0.1, 0.6, 2]]])
