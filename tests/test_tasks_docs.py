"""The snippets of the page on tasks run as they are written."""

from __future__ import annotations

import csv
import io
import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from conftest import jpeg

import infeed

pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "tasks.md").read_text()
SNIPPETS = [
    (f"{title}-{number}", code)
    for title, text in re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", PAGE, re.S | re.M)
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", text, re.S))
]


def mask(seed: int, width: int, height: int) -> bytes:
    """A PNG with a palette."""
    rng = np.random.default_rng(seed)
    image = Image.fromarray(rng.integers(0, 3, (height, width), dtype=np.uint8)).convert("P")
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def coco(rows: int) -> dict[str, list[dict]]:
    """Annotations of persons with three points: left hand, right hand, head. The last image has none."""
    rng = np.random.default_rng(0)
    images = [{"id": i, "file_name": f"{i:02d}.jpg", "width": 80, "height": 60} for i in range(rows)]
    annotations = []
    for image in images[:-1]:
        for _ in range(rng.integers(1, 5)):
            x, y, w, h = rng.uniform(0, 40), rng.uniform(0, 30), rng.uniform(8, 40), rng.uniform(8, 30)
            points = [v for share in (0.2, 0.8, 0.5) for v in (x + share * w, y + share * h, 2)]
            about = {"id": len(annotations), "image_id": image["id"], "category_id": 1, "iscrowd": 0}
            annotations.append(about | {"bbox": [x, y, w, h], "area": w * h, "keypoints": points, "num_keypoints": 3})
    category = {"id": 1, "name": "person", "keypoints": ["left", "right", "head"]}
    return {"images": images, "annotations": annotations, "categories": [category]}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the snippets read."""
    root = tmp_path_factory.mktemp("tasks")
    (root / "images").mkdir()
    with (root / "captions.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["path", "caption"])
        for i in range(40):
            (root / "images" / f"{i:02d}.jpg").write_bytes(jpeg(i, 80, 60))
            table.writerow([f"{i:02d}.jpg", f"picture {i} of " + "many " * (i % 7 + 1) + "things"])
            path = root / "photos" / f"class{i % 4}" / f"{i:02d}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(jpeg(i, 80, 60))
    with infeed.ShardWriter(root / "scenes-%03d.tar", maxcount=9) as out:
        for i in range(27):
            out.write({"__key__": f"s{i}", "jpg": jpeg(i, 80, 60), "png": mask(i, 80, 60)})
    with infeed.ShardWriter(root / "documents" / "d-%03d.tar", maxcount=9) as out:
        for i in range(20):
            images = {f"{n:02d}.jpg": jpeg(i + n, 80, 60) for n in range(i % 4)}
            out.write({"__key__": f"d{i}", "txt": "<image> and " * (i % 4) + "words", **images})
    annotations = coco(40)
    (root / "keypoints.json").write_text(json.dumps(annotations))
    for one in annotations["annotations"]:
        del one["keypoints"], one["num_keypoints"]
    del annotations["categories"][0]["keypoints"]
    (root / "instances.json").write_text(json.dumps(annotations))
    texts = [f"document {i} with " + "words " * (i % 9 + 1) for i in range(40)]
    (root / "docs.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    tokenizer = runpy.run_path(str(ROOT / "examples" / "llm_blend.py"))["byte_tokenizer"]()
    (root / "tokenizer.json").write_text(json.dumps(tokenizer))
    return root


@pytest.mark.parametrize("code", [code for _, code in SNIPPETS], ids=[name for name, _ in SNIPPETS])
def test_snippet(code: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(data)
    names: dict[str, object] = {"__name__": "snippet"}
    exec(compile(code, "tasks.md", "exec"), names)
    assert names["batch"], "the loop ran"


def test_every_task_has_a_snippet() -> None:
    tasks = re.findall(r"\]\(#([a-z-]+)\)", PAGE)
    shown = {re.sub(r"[^a-z]+", "-", name.rsplit("-", 1)[0].lower()) for name, _ in SNIPPETS}
    assert len(set(tasks)) == 7 and set(tasks) <= shown
