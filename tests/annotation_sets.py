"""Small data sets with annotations: COCO, Pascal VOC, YOLO."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from conftest import jpeg

Json = dict[str, Any]


def runs(mask: np.ndarray) -> list[int]:
    """Run lengths of a mask, column by column, beginning with zeros."""
    flat = np.concatenate([[0], mask.T.ravel(), [2]])
    ends = np.flatnonzero(np.diff(flat))
    counts = np.diff(np.concatenate([[0], ends])).tolist()
    if mask[0, 0]:  # no zeros at the start
        counts = [0, *np.diff(ends).tolist()]
    return counts


def polygon(rng: np.random.Generator, height: int, width: int, *, wild: bool = False) -> list[float]:
    """A polygon with decimals as COCO has them; a wild one crosses itself and leaves the image."""
    count = int(rng.integers(3, 12))
    low, high = (-0.3, 1.3) if wild else (0.0, 1.0)
    points = rng.uniform(low, high, (count, 2)) * [width, height]
    if rng.random() < 0.3:
        points = np.repeat(points, 2, axis=0)  # points that are there twice
    return [float(value) for value in np.round(points, int(rng.integers(0, 4))).ravel()]


def instances(images: int, seed: int = 0) -> Json:
    """Annotations of ``images`` images: polygons, run lengths, crowds, keypoints; every fifth image has none."""
    from pycocotools import mask as tools

    rng = np.random.default_rng(seed)
    listed, notes = [], []
    categories = [{"id": n, "name": f"class {n}", "supercategory": "thing"} for n in (7, 1, 90, 18)]
    for i in rng.permutation(images).tolist():
        height, width = int(rng.integers(30, 80)), int(rng.integers(30, 80))
        listed.append({"id": 1000 - i * 3, "file_name": f"{i:04}.jpg", "height": height, "width": width})
        for _ in range(0 if i % 5 == 4 else int(rng.integers(1, 6))):
            kind = rng.integers(0, 3)
            shape: Any = [polygon(rng, height, width) for _ in range(int(rng.integers(1, 3)))]
            if kind:
                mask = (rng.random((height, width)) < 0.5).repeat(3, 0)[:height].astype(np.uint8)
                shape = {"size": [height, width], "counts": runs(mask)}
            if kind == 2:
                shape = tools.frPyObjects(shape, height, width)
                shape = {"size": shape["size"], "counts": shape["counts"].decode()}
            x, y = rng.uniform(0, width / 2), rng.uniform(0, height / 2)
            notes.append(
                {
                    "id": int(len(notes) * 7 + 3),
                    "image_id": listed[-1]["id"],
                    "category_id": int(rng.choice([7, 1, 90, 18])),
                    "bbox": [round(v, 2) for v in (x, y, rng.uniform(0, width / 2), rng.uniform(0, height / 2))],
                    "area": round(float(rng.uniform(0, 900)), 3),
                    "iscrowd": int(kind == 1),
                    "segmentation": shape,
                    "keypoints": np.round(rng.uniform(0, 30, (5, 3))).ravel().tolist(),
                    "num_keypoints": 5,
                }
            )
    order = rng.permutation(len(notes)).tolist()
    return {
        "info": {"year": 2026},
        "images": listed,
        "annotations": [notes[k] for k in order],
        "categories": categories,
    }


def write_coco(folder: Path, notes: Json) -> tuple[Path, Path]:
    """Writes images and annotations; returns their places."""
    (folder / "images").mkdir(exist_ok=True)
    for i, image in enumerate(notes["images"]):
        place = folder / "images" / image["file_name"]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(jpeg(i, image.get("width", 40), image.get("height", 30)))
    (folder / "notes.json").write_text(json.dumps(notes))
    return folder / "images", folder / "notes.json"


def voc_xml(name: str, size: tuple[int, int], objects: list[tuple[str, tuple[float, ...], int]]) -> str:
    """The annotation of an image: names, boxes and whether they are difficult."""
    width, height = size
    inside = "".join(
        f"<object><name>{label}</name><pose>Left</pose><truncated>{i % 2}</truncated><difficult>{hard}</difficult>"
        f"<bndbox><xmin>{x1}</xmin><ymin>{y1}</ymin><xmax>{x2}</xmax><ymax>{y2}</ymax></bndbox></object>"
        for i, (label, (x1, y1, x2, y2), hard) in enumerate(objects)
    )
    return (
        f"<annotation><filename>{name}.jpg</filename><size><width>{width}</width><height>{height}</height>"
        f"<depth>3</depth></size><segmented>0</segmented>{inside}</annotation>"
    )


def write_voc(folder: Path, images: int = 6) -> Path:
    """Writes ``VOCdevkit/VOC2012`` as torchvision expects it; returns that folder."""
    base = folder / "VOCdevkit" / "VOC2012"
    for name in ("JPEGImages", "Annotations", "ImageSets/Main"):
        (base / name).mkdir(parents=True)
    names = [f"2012_{i * 37 % 100:06}" for i in range(images)]
    for i, name in enumerate(names):
        (base / "JPEGImages" / f"{name}.jpg").write_bytes(jpeg(i, 50, 40))
        objects = [
            (label, (1 + k, 2 + i, 30 + k, 39), k % 2) for k, label in enumerate(["dog", "person", "cat"][: i % 4])
        ]
        (base / "Annotations" / f"{name}.xml").write_text(voc_xml(name, (50, 40), objects))
    (base / "ImageSets" / "Main" / "train.txt").write_text("\n".join(names) + "\n")
    return base


def write_yolo(folder: Path, images: int = 5) -> Path:
    """Writes images, labels and ``data.yaml``; returns the last."""
    rng = np.random.default_rng(1)
    for part in ("images/train", "labels/train"):
        (folder / part).mkdir(parents=True)
    for i in range(images):
        (folder / "images/train" / f"{i}.jpg").write_bytes(jpeg(i, 50, 40))
        lines = [f"{k} {' '.join(f'{v:.4f}' for v in rng.uniform(0.3, 0.5, 4))}\n" for k in range(i % 3)]
        if lines:
            (folder / "labels/train" / f"{i}.txt").write_text("".join(lines))
    (folder / "data.yaml").write_text("path: .\ntrain: images/train\nval: images/train\nnames:\n  0: cat\n  1: dog\n")
    return folder / "data.yaml"
