"""Small data sets of images with annotations; `format_cases.py` has the list that they belong to."""

from __future__ import annotations

import json
from pathlib import Path

from annotation_sets import voc_xml
from format_cases import PARTS, Made, case

import infeed

ROWS = sum(PARTS)


def picture(i: int) -> bytes:
    """The bytes of an image file, which nobody decodes."""
    return bytes([i, 255 - i]) * (20 + i % 7)


@case("coco")
def coco(folder: Path) -> Made:
    (folder / "images").mkdir()
    images, notes, rows = [], [], []
    for i in range(ROWS):
        name = f"{(i * 31) % ROWS:03}.jpg"
        (folder / "images" / name).write_bytes(picture(i))
        images.append({"id": 900 - i, "file_name": name, "height": 3, "width": 4})
        count = i % 3
        for k in range(count):
            note = {"id": i * 10 + k, "image_id": 900 - i, "category_id": 1 + k, "caption": f"{i} {k}"}
            runs = {"size": [3, 4], "counts": [k, 2, 10 - k]}
            notes.append({**note, "bbox": [k, 0.5, 2, 1.5], "segmentation": runs})
        masks = [[[int(k <= c * 3 + r < k + 2) for c in range(4)] for r in range(3)] for k in range(count)]
        rows.append(
            {
                "image": picture(i),
                "file_name": name,
                "image_id": 900 - i,
                "boxes": [[float(k), 0.5, k + 2.0, 2.0] for k in range(count)],
                "labels": [1 + k for k in range(count)],
                "masks": masks,
                "captions": [f"{i} {k}" for k in range(count)],
            }
        )
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    text = json.dumps({"annotations": notes[::-1], "images": images, "categories": categories})
    (folder / "notes.json").write_text(text)
    # The file has them the other way round.
    for row in rows:
        for name in ("boxes", "labels", "masks", "captions"):
            row[name].reverse()  # type: ignore[attr-defined]
    pipeline = infeed.coco(folder / "images", folder / "notes.json").decode(masks="instance_masks")
    return Made(pipeline, rows, "labels")


@case("voc")
def voc(folder: Path) -> Made:
    for name in ("JPEGImages", "Annotations", "ImageSets/Main"):
        (folder / name).mkdir(parents=True)
    rows = []
    names = [f"{(i * 31) % ROWS:03}" for i in range(ROWS)]
    for i, name in enumerate(names):
        (folder / "JPEGImages" / f"{name}.jpg").write_bytes(picture(i))
        objects = [("cat", (1.0 + k, 2.0, 9.5, 8.0), k % 2) for k in range(i % 3)]
        (folder / "Annotations" / f"{name}.xml").write_text(voc_xml(name, (10, 8), objects))
        rows.append(
            {
                "image": picture(i),
                "file_name": f"{name}.jpg",
                "boxes": [list(box) for _, box, _ in objects],
                "labels": [7] * len(objects),
                "difficult": [hard for _, _, hard in objects],
                "truncated": [k % 2 for k in range(len(objects))],
            }
        )
    (folder / "ImageSets" / "Main" / "train.txt").write_text("\n".join(names))
    return Made(infeed.voc(folder), rows, "labels")


@case("yolo")
def yolo(folder: Path) -> Made:
    for name in ("images/train", "labels/train"):
        (folder / name).mkdir(parents=True)
    rows = []
    for i in range(ROWS):
        (folder / "images/train" / f"{i:03}.jpg").write_bytes(picture(i))
        boxes = [[0.5, 0.25, 0.125 * k, 0.5] for k in range(i % 3)]
        lines = [f"{k} {' '.join(map(str, box))}\n" for k, box in enumerate(boxes)]
        (folder / "labels/train" / f"{i:03}.txt").write_text("".join(lines))
        row = {"image": picture(i), "file_name": f"{i:03}.jpg", "boxes": boxes, "labels": list(range(len(boxes)))}
        rows.append(row)
    return Made(infeed.yolo(folder, names=["cat", "dog"]), rows, "labels")
