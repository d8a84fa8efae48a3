"""What tests of shown samples share: a reader of pages, and samples with targets at known places."""

from __future__ import annotations

import base64
import io
import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
from conftest import encode
from PIL import Image

import infeed
from infeed import decoders as D
from infeed import transforms as T

#: An image without colours: what has some was drawn on it.
GRAY = np.full((60, 80, 3), 128, np.uint8)


class Page(HTMLParser):
    """What a browser would make of a page: its tags, the text of its cells, its images."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.rows: list[list[str]] = []
        self.images: list[tuple[dict[str, str], np.ndarray]] = []
        self.attributes: set[str] = set()
        self._open = False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self._open = tag in ("td", "th") or (self._open and tag in ("br", "small"))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "img":
            given = dict(attrs)
            head, data = given["src"].split(",")
            assert head == "data:image/png;base64"
            self.images.append((given, np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))))
            self.rows[-1][-1] += "image"

    def handle_endtag(self, tag):
        self._open = self._open and tag not in ("td", "th")

    def handle_data(self, data):
        if self._open:
            self.rows[-1][-1] += data


def seen_in(path: Path) -> np.ndarray:
    """The pixels of a PNG file."""
    return np.asarray(Image.open(io.BytesIO(path.read_bytes())))


def scenes(count=3, height=40, width=60):
    """Images with a box, a mask, instance masks and keypoints at known places."""
    rng = np.random.default_rng(0)
    image = np.full((height, width, 3), 100, np.uint8)
    mask = np.zeros((height, width), np.uint8)
    mask[10:20, 30:50] = 3
    things = np.zeros((2, height, width), np.uint8)
    things[0, :5, :5] = 1
    things[1, 30:, 50:] = 1
    boxes = np.array([[10, 5, 25, 35], [30, 10, 50, 20]], np.float32)
    points = np.array([[[5, 6, 2], [50, 30, 0]], [[0, 0, 0], [0, 0, 0]]], np.float32)
    return [
        {"image": image, "mask": mask, "masks": things, "boxes": boxes, "keypoints": points, "n": rng.integers(9)}
        for _ in range(count)
    ]


def stored(folder: Path, count: int = 3) -> infeed.Pipeline:
    with infeed.ShardWriter(folder / "a-%d.tar") as out:
        for i, s in enumerate(scenes(count)):
            fields = {"image.png": encode(s["image"], "PNG"), "mask.png": encode(s["mask"], "PNG")}
            notes = {"boxes.json": s["boxes"].tolist(), "points.json": s["keypoints"].tolist()}
            out.write({"__key__": f"k{i}", **fields, **notes, "t.txt": f"words {i}"})
    decoders = {"image.png": "rgb", "mask.png": "mask", "boxes.json": D.boxes(along=[]), "t.txt": "text"}
    return infeed.open(str(folder / "*.tar")).decode(**decoders, **{"points.json": D.keypoints(points=2)})


def write_coco(folder: Path) -> Path:
    """Three gray images, each with one box and its outline; returns the file of annotations."""
    (folder / "images").mkdir(parents=True)
    images, notes = [], []
    for i in range(3):
        (folder / "images" / f"{i}.png").write_bytes(encode(GRAY, "PNG"))
        images.append({"id": i, "file_name": f"{i}.png", "height": 60, "width": 80})
        outline = [[20.0, 10.0, 60.0, 10.0, 60.0, 50.0, 20.0, 50.0]]
        box = {"bbox": [20, 10, 40, 40], "segmentation": outline, "area": 1600, "iscrowd": 0}
        notes.append({"id": i, "image_id": i, "category_id": 7, **box})
    file = folder / "instances.json"
    classes = [{"id": 7, "name": "thing"}]
    file.write_text(json.dumps({"images": images, "annotations": notes, "categories": classes}))
    return file


def same(one, other):
    """Whether two batches or samples have the same fields and values."""
    if isinstance(one, tuple):
        return len(one) == len(other) and all(same({"": a}, {"": b}) for a, b in zip(one, other, strict=True))
    assert list(one) == list(other)
    for name in one:
        a, b = one[name], other[name]
        assert isinstance(a, list) == isinstance(b, list), name
        if isinstance(a, list):
            assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True)), name
        else:
            assert np.array_equal(a, b), name
    return True


def augmented(shards, **batch):
    data = infeed.open(shards).shuffle(seed=5).decode(jpg="rgb", cls="int")
    return data.map(T.RandomResizedCrop(16), T.RandomHorizontalFlip(), on="jpg").batch(**{"size": 8, **batch})
