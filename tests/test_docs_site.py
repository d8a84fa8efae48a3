"""The documentation builds without warnings, needs nothing from elsewhere, and what it shows of infeed runs."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import jpeg
from format_writers import example, tfrecords

import infeed

ROOT = Path(__file__).resolve().parents[1]
COMING = sorted((ROOT / "docs" / "coming").glob("*.md"))


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built as `make docs` does it."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_nothing_is_fetched(site):
    loaded = re.compile(r"""<(?:script|img|link|iframe)[^>]*(?:src|href)=["']?(?:https?:)?//""")
    for page in site.rglob("*.html"):
        assert not loaded.search(page.read_text()), page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import )[\"']?(?:https?:)?//", sheet.read_text()), sheet


def test_every_page_is_there_and_found(site):
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs")).with_suffix(".html").exists(), page
    index = json.loads((site / "search" / "search_index.json").read_text())
    found = {entry["location"] for entry in index["docs"]}
    assert {"guide.html", "reference/transforms.html#randomresizedcrop", "reference/pipeline.html#shuffle"} <= found


def test_the_reference_is_whole(site):
    from infeed import transforms

    page = (site / "reference" / "transforms.html").read_text()
    assert [name for name in transforms.__all__ if f'id="{name.lower()}"' not in page] == ["Transform"]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """What the pages read."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    root = tmp_path_factory.mktemp("coming")
    (root / "shards").mkdir()
    with infeed.ShardWriter(root / "shards" / "train-%03d.tar", maxcount=12) as out:
        for row in range(48):
            out.write({"__key__": f"{row:03d}", "jpg": jpeg(row, 90, 80), "cls": row % 3})
    for row in range(40):
        path = root / "photos" / f"class{row % 4}" / f"{row:02d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg(row, 90, 80))
    (root / "text").mkdir()
    texts = [f"document {i} with " + "words " * (i % 9 + 1) for i in range(40)]
    parquet.write_table(pa.table({"text": texts, "n": list(range(40))}), root / "text" / "a.parquet")
    tokenizer = runpy.run_path(str(ROOT / "examples" / "llm_blend.py"))["byte_tokenizer"]()
    (root / "tokenizer.json").write_text(json.dumps(tokenizer))
    (root / "records").mkdir()
    rows = [example({"image": jpeg(row, 90, 80), "label": row % 3}) for row in range(40)]
    (root / "records" / "a.tfrecord").write_bytes(tfrecords(rows))
    return root


SNIPPETS = [
    pytest.param(textwrap.dedent(code), id=page.stem)
    for page in COMING
    for code in re.findall(r"^ *```python\n(.*?)^ *```", page.read_text(), re.S | re.M)
]


@pytest.mark.parametrize("code", SNIPPETS)
def test_infeed_s_side_runs(code, data, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(data)
    names: dict = {"__name__": "snippet"}
    exec(compile(code, "page", "exec"), names)
    assert "batch" in names or "images" in names, "the loop ran"


def test_every_page_shows_both_sides():
    for page in COMING:
        if page.stem != "index":
            text = page.read_text()
            assert text.count("```python") == 1 and text.count("```py\n") == 1, page
            theirs = re.search(r"```py\n(.*?)^ *```", text, re.S | re.M).group(1)
            compile(textwrap.dedent(theirs), str(page), "exec")
