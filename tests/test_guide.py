"""The guide's longer snippets run as they are written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import jpeg

import infeed

pytest.importorskip("torch")

GUIDE = (Path(__file__).parent.parent / "docs" / "guide.md").read_text()
SNIPPETS = re.findall(r"## ([^\n]*)\n(?:(?!\n## ).)*?```python\n(.*?)```", GUIDE, re.S)


@pytest.mark.parametrize("code", [code for _, code in SNIPPETS], ids=[title for title, _ in SNIPPETS])
def test_snippet(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with infeed.ShardWriter(tmp_path / "train-%03d.tar", maxcount=9) as out:
        for i in range(72):
            out.write({"__key__": f"s{i}", "jpg": jpeg(i, 64, 48), "cls": i})
    names: dict[str, object] = {}
    exec(compile(code, "guide.md", "exec"), names)
    assert names["batch"], "the loop ran"


def test_there_are_snippets():
    assert {"Several views of one image", "Mixing batches"} <= {title for title, _ in SNIPPETS}
