"""The guide's longer snippets run as they are written."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from conftest import jpeg

import infeed

pytest.importorskip("torch")

GUIDE = (Path(__file__).parent.parent / "docs" / "guide.md").read_text()
SNIPPETS = [
    (title, code)
    for title, text in re.findall(r"^##+ ([^\n]*)\n(.*?)(?=^##|\Z)", GUIDE, re.S | re.M)
    for code in re.findall(r"```python\n(.*?)```", text, re.S)
]


@pytest.mark.parametrize("code", [code for _, code in SNIPPETS], ids=[title for title, _ in SNIPPETS])
def test_snippet(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with infeed.ShardWriter(tmp_path / "train-%03d.tar", maxcount=9) as out:
        for i in range(72):
            out.write({"__key__": f"s{i}", "jpg": jpeg(i, 64, 48), "cls": i})
    with infeed.ShardWriter(tmp_path / "embeddings-%03d.tar") as out:
        for i in range(40):
            out.write({"__key__": f"e{i}", "npy": np.full(512, i, np.float32)})
    names: dict[str, object] = {}
    exec(compile(code, "guide.md", "exec"), names)
    assert names["batch"], "the loop ran"


def test_there_are_snippets():
    assert {"Several views of one image", "Mixing batches", "Batches"} <= {title for title, _ in SNIPPETS}
    assert len(SNIPPETS) == GUIDE.count("```python")
