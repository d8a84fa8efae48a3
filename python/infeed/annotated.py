"""Finds data sets with annotations by how their folders look: COCO, Pascal VOC, YOLO.

``infeed.open`` would take them for folders of images, or for JSON lines. Only the standard library is needed: the command
line asks this before it starts anything else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: So much of the start and of the end of a JSON file is looked at.
_LOOK = 1 << 16
_KEY = re.compile(rb'"(images|annotations|categories)"\s*:\s*\[')
_NAME = re.compile(rb'"file_name"\s*:\s*"([^"\\]+)"')
#: Files of annotations of the same images, the one with the most in it first.
_PREFERRED = ("instances", "person_keypoints", "captions")


class AnnotatedSet(NamedTuple):
    """A data set: what the function of the format (``infeed.coco``, ...) takes."""

    format: str
    path: str
    args: dict[str, str]


def annotated_set(path: str) -> AnnotatedSet | None:
    """The data set with annotations that lies there, if one does."""
    place = Path(path)
    try:
        if place.is_dir():
            return _voc(place) or _yolo(place) or _coco_folder(place)
        if place.suffix.lower() in (".yaml", ".yml") and place.is_file():
            return AnnotatedSet("yolo", path, {}) if _has_split(place) else None
        return _coco(place) if place.suffix.lower() == ".json" and place.is_file() else None
    except OSError:  # whoever opens the path says what is wrong with it
        return None


def _voc(folder: Path) -> AnnotatedSet | None:
    lists = folder / "ImageSets" / "Main"
    if not all(part.is_dir() for part in (folder / "JPEGImages", folder / "Annotations", lists)):
        return None
    found = {file.stem for file in lists.glob("*.txt")}
    split = next((name for name in ("train", "trainval", "val", "test") if name in found), None)
    return None if split is None else AnnotatedSet("voc", os.fspath(folder), _unless_default(split))


def _yolo(folder: Path) -> AnnotatedSet | None:
    for split in ("train", "val", "test"):
        pairs = [(folder / "images" / split, folder / "labels" / split)]
        pairs += [(folder / split / "images", folder / split / "labels")]
        if any(images.is_dir() and labels.is_dir() for images, labels in pairs):
            return AnnotatedSet("yolo", os.fspath(folder), _unless_default(split))
    listed = folder / "data.yaml"
    return AnnotatedSet("yolo", os.fspath(folder), {}) if listed.is_file() and _has_split(listed) else None


def _unless_default(split: str) -> dict[str, str]:
    return {} if split == "train" else {"split": split}


def _has_split(yaml: Path) -> bool:
    with yaml.open("rb") as text:
        return re.search(rb"^train\s*:", text.read(_LOOK), re.MULTILINE) is not None


def _coco_folder(folder: Path) -> AnnotatedSet | None:
    files = [*sorted(folder.glob("*.json")), *sorted((folder / "annotations").glob("*.json"))]
    ranked = sorted(files, key=lambda file: [not file.name.startswith(word) for word in _PREFERRED])
    return next((found for file in ranked if (found := _coco(file))), None)


def _coco(file: Path) -> AnnotatedSet | None:
    """A JSON file of COCO, with the folder that has its first image."""
    with file.open("rb") as text:
        start = text.read(_LOOK)
        text.seek(max(0, os.fstat(text.fileno()).st_size - _LOOK))
        end = text.read(_LOOK)
    keys = {match.group(1) for match in _KEY.finditer(start + b"\n" + end)}
    image = _NAME.search(start) or _NAME.search(end)
    if b"images" not in keys or len(keys) < 2 or image is None:
        return None
    name = image.group(1).decode("utf-8", "replace")
    folder = next((place for place in _beside(file) if (place / name).is_file()), None)
    return None if folder is None else AnnotatedSet("coco", os.fspath(folder), {"annotations": os.fspath(file)})


def _beside(file: Path) -> Iterator[Path]:
    """Where the images of a file may lie: ``annotations/instances_val2017.json`` belongs to ``val2017``."""
    split = file.stem.rpartition("_")[2]
    for parent in (file.parent, file.absolute().parent.parent):
        yield parent
        yield from (parent / "images", parent / split, parent / "images" / split)
