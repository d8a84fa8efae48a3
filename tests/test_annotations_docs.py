"""The snippets of the page on detection data run as they are written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from annotation_sets import instances, write_coco, write_voc, write_yolo

pytest.importorskip("pycocotools")
pytest.importorskip("torch")

PAGE = (Path(__file__).parent.parent / "docs" / "annotations.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE, re.S)


@pytest.mark.parametrize("code", SNIPPETS, ids=["start", "coco", "voc", "yolo"])
def test_snippet(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    images, notes = write_coco(tmp_path, instances(12))
    images.rename("train2017")
    Path("annotations").mkdir()
    notes.rename("annotations/instances_train2017.json")
    write_voc(tmp_path)
    Path("coco8").mkdir()
    write_yolo(Path("coco8"))
    names: dict[str, Any] = {}
    exec(compile("import infeed\n" + code, "annotations.md", "exec"), names)
    assert names["batch"], "the loop ran"
