"""Wrong annotations: each is an error that names the file and the annotation, and never the end of the process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from annotation_sets import voc_xml, write_coco, write_voc, write_yolo

import infeed

Change = Callable[[dict[str, Any]], Any]


def plain() -> dict[str, Any]:
    """Two images and three annotations."""
    note = {"category_id": 1, "area": 9, "iscrowd": 0, "bbox": [1, 2, 3, 4], "segmentation": [[1, 1, 9, 1, 9, 9]]}
    return {
        "images": [{"id": i, "file_name": f"{i}.jpg", "width": 20, "height": 16} for i in (5, 6)],
        "annotations": [{"id": 11 + i, "image_id": 5 + i // 2, **note} for i in range(3)],
        "categories": [{"id": 1, "name": "cat"}],
    }


def read(pipeline: infeed.Pipeline, **options: Any) -> list[infeed.Batch]:
    return list(pipeline.batch(2).to_numpy(**options))


def first(notes: dict[str, Any]) -> dict[str, Any]:
    note: dict[str, Any] = notes["annotations"][0]
    return note


OPENING: dict[str, tuple[Change, str]] = {
    "duplicate annotation": (lambda n: first(n).update(id=12), r"annotations\[0\] and annotations\[1\].*id 12"),
    "duplicate image": (lambda n: n["images"][1].update(id=5), r"images\[0\] and images\[1\].*id 5"),
    "duplicate category": (
        lambda n: n["categories"].append({"id": 1, "name": "dog"}),
        "two categories have the id 1",
    ),
    "unknown image": (lambda n: first(n).update(image_id=7), "does not list, the first has the id 11"),
    "unknown category": (
        lambda n: first(n).update(category_id=7),
        r"annotations\[0\] \(id 11, image 5\).*category 7",
    ),
    "no image_id": (lambda n: first(n).pop("image_id"), r"annotations\[0\]: annotation 11 has no `image_id`"),
    "no annotations": (lambda n: n.pop("annotations"), "no list `annotations`"),
    "NaN": (lambda n: first(n).update(bbox=[1, 2, float("nan"), 4]), r"annotations\[0\].*NaN"),
    "box of three": (lambda n: first(n).update(bbox=[1, 2, 3]), "the bbox of annotation 11 has 3 numbers"),
    "empty box": (lambda n: first(n).update(bbox=[]), "the bbox of annotation 11 has 0 numbers"),
    "text for a box": (lambda n: first(n).update(bbox="1"), r"annotations\[0\]: invalid type"),
    "keypoints": (lambda n: first(n).update(keypoints=[1, 2]), "annotation 11 has 2 numbers for keypoints"),
    "outside the folder": (
        lambda n: n["images"][0].update(file_name="../5.jpg"),
        r"image 5 has the file_name `../5.jpg`",
    ),
}


@pytest.mark.parametrize("case", OPENING)
def test_files_that_do_not_fit_together(case, tmp_path):
    folder, file = write_coco(tmp_path, plain())
    notes = plain()
    change, message = OPENING[case]
    change(notes)
    file.write_text(json.dumps(notes))
    with pytest.raises(ValueError, match=message) as raised:
        infeed.coco(folder, file).explain()
    assert "notes.json" in str(raised.value)


SAMPLES: dict[str, tuple[Change, str]] = {
    "box outside": (lambda n: first(n).update(bbox=[15, 2, 30, 4]), "outside the image of 20 x 16"),
    "negative box": (lambda n: first(n).update(bbox=[5, 5, -3, 1]), "ends before it begins"),
    "huge number": (lambda n: first(n).update(bbox=[0, 0, 1e300, 1]), "not a finite number"),
    "label without a box": (lambda n: first(n).pop("bbox"), "has no `bbox`"),
    "box without a label": (lambda n: first(n).pop("category_id"), "has no `category_id`"),
    "negative area": (lambda n: first(n).update(area=-1), "its area is -1"),
    "no polygons": (lambda n: first(n).update(segmentation=[]), "the list of polygons is empty"),
    "no segmentation": (lambda n: first(n).pop("segmentation"), "there is none"),
    "two points": (lambda n: first(n).update(segmentation=[[1, 1, 2, 2]]), "fewer than 3 points"),
    "odd polygon": (lambda n: first(n).update(segmentation=[[1] * 7]), "no pairs of x and y"),
    "mask of another size": (
        lambda n: first(n).update(segmentation={"size": [20, 16], "counts": [320]}),
        "for an image of 20 x 16",
    ),
    "too few runs": (lambda n: first(n).update(segmentation={"size": [16, 20], "counts": [5]}), "cover 5 pixels"),
    "negative runs": (lambda n: first(n).update(segmentation={"size": [16, 20], "counts": [-1]}), "nor run lengths"),
    "bad characters": (lambda n: first(n).update(segmentation={"size": [16, 20], "counts": "!"}), "character 0"),
}


@pytest.mark.parametrize("case", SAMPLES)
def test_wrong_values_are_bad_samples(case, tmp_path):
    notes = plain()
    change, message = SAMPLES[case]
    change(notes)
    folder, file = write_coco(tmp_path, notes)
    pipeline = infeed.coco(folder, file).decode(masks="instance_masks")
    with pytest.raises(infeed.SampleError, match=message) as raised:
        read(pipeline)
    assert "annotation 11" in str(raised.value) and "notes.json" in str(raised.value)
    assert (raised.value.row, raised.value.key) == (0, "5.jpg")
    batches = read(pipeline, on_error="skip")
    assert [name for batch in batches for name in batch["file_name"]] == ["6.jpg"]


def test_every_cut_of_a_file_is_refused(tmp_path):
    folder, file = write_coco(tmp_path, plain())
    text = file.read_text()
    for length in range(0, len(text), 7):
        file.write_text(text[:length])
        with pytest.raises(infeed.FormatError, match="ends early"):
            infeed.coco(folder, file).explain()


def test_missing_images_are_named_and_counted(tmp_path):
    folder, file = write_coco(tmp_path, plain())
    (folder / "5.jpg").unlink()
    with pytest.raises(FileNotFoundError, match=r"5\.jpg.*notes\.json` names a file"):
        infeed.coco(folder, file).explain()
    pipeline = infeed.coco(folder, file, missing="skip")
    assert "names a file that is not there: skipped" in pipeline.explain()
    assert [name for batch in read(pipeline) for name in batch["file_name"]] == ["6.jpg"]
    with pytest.raises(FileNotFoundError, match="nowhere"):
        infeed.coco(folder, tmp_path / "nowhere.json").explain()
    with pytest.raises(ValueError, match="is not a folder"):
        infeed.coco(file, file).explain()


def test_boxes_outside_can_be_clipped_or_kept(tmp_path):
    notes = plain()
    first(notes)["bbox"] = [-5, 2, 100, 4]
    folder, file = write_coco(tmp_path, notes)
    boxes = {how: read(infeed.coco(folder, file, outside=how))[0]["boxes"][0][0].tolist() for how in ("clip", "keep")}
    assert boxes == {"clip": [0, 2, 20, 6], "keep": [-5, 2, 95, 6]}


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        (voc_xml("a", (50, 40), [("unicorn", (1, 1, 5, 5), 0)]), r"object 0 \(`unicorn`\).*class is unknown"),
        (voc_xml("a", (50, 40), [("dog", (1, 1, 90, 5), 0)]), "outside the image of 50 x 40"),
        (voc_xml("a", (50, 40), [("dog", (9, 1, 5, 5), 0)]), "ends before it begins"),
        (voc_xml("a", (50, 40), [("dog", (float("nan"), 1, 5, 5), 0)]), "xmin `nan`"),
        (voc_xml("a", (50, 40), [("dog", (1, 1, 5, 5), 7)]), "`7` for difficult"),
        ("<annotation><object></annotation>", "not XML"),
        ("", "not XML"),
    ],
)
def test_wrong_voc_files(xml, message, tmp_path):
    base = write_voc(tmp_path)
    (base / "Annotations" / "2012_000037.xml").write_text(xml)
    with pytest.raises(infeed.SampleError, match=message) as raised:
        read(infeed.voc(base))
    assert "2012_000037.xml" in str(raised.value) and raised.value.row == 1
    (base / "Annotations" / "2012_000037.xml").unlink()
    with pytest.raises(FileNotFoundError, match=r"train\.txt` names a file"):
        infeed.voc(base).explain()
    with pytest.raises(FileNotFoundError, match=r"VOCdevkit/VOC2012"):
        infeed.voc(tmp_path).explain()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0 0.5 0.5 0.9", "line 2 of the labels has 3 numbers"),
        ("0 0.5 nan 0.1 0.1", "has `nan`"),
        ("7 0.5 0.5 0.1 0.1", "has the class 7, but only 2 classes have names"),
        ("0 0.9 0.5 0.9 0.1", "object 1 of .*outside the image"),
        ("cat 0.5 0.5 0.9 0.1", "has `cat`"),
    ],
)
def test_wrong_yolo_labels(line, message, tmp_path):
    file = write_yolo(tmp_path)
    (tmp_path / "labels/train/1.txt").write_text(f"0 0.5 0.5 0.1 0.1\n{line}\n")
    with pytest.raises(infeed.SampleError, match=message) as raised:
        read(infeed.yolo(file))
    assert "labels/train/1.txt" in str(raised.value) and raised.value.row == 1


def test_wrong_yolo_descriptions(tmp_path):
    file = write_yolo(tmp_path)
    with pytest.raises(ValueError, match="no images for the split `test`"):
        infeed.yolo(file, split="test").explain()
    file.write_text("train: nowhere/images\n")
    with pytest.raises(FileNotFoundError, match=r"nowhere/images.*correct `path` or `train`"):
        infeed.yolo(file).explain()
    file.write_text("train: list.txt\nnames: [cat, dog]\n")
    (tmp_path / "list.txt").write_text("./images/train/1.jpg\nimages/train/9.jpg\n")
    with pytest.raises(FileNotFoundError, match=r"9\.jpg.*names a file"):
        infeed.yolo(file).explain()
    rows = read(infeed.yolo(file, missing="skip"))
    assert [Path(name).name for batch in rows for name in batch["file_name"]] == ["1.jpg"]
    file.write_text("train: *anchor\n")
    with pytest.raises(ValueError, match="line 1: `train` has `\\*anchor`"):
        infeed.yolo(file).explain()
