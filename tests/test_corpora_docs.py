"""The snippets of the pages on tokens, text and tables run as they are written."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from conftest import jpeg
from format_writers import example, tfrecords, write_megatron

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("tokens", "text", "tables")
SNIPPETS = [
    (f"{page}-{number}", code)
    for page in PAGES
    for number, code in enumerate(
        re.findall(r"```python\n(.*?)```", (ROOT / "docs" / f"{page}.md").read_text(), re.S)
    )
]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the snippets read."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INFEED_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    Path("corpus").mkdir()
    for name in ("web", "books", "code"):
        write_megatron(Path("corpus") / name, [rng.integers(0, 300, size) for size in rng.integers(20, 3000, 60)])
    tokenizer = runpy.run_path(str(ROOT / "examples" / "llm_blend.py"))["byte_tokenizer"]()
    tokenizer["added_tokens"].append({**tokenizer["added_tokens"][0], "id": 257, "content": "<mask>"})
    Path("tokenizer.json").write_text(json.dumps(tokenizer))
    texts = [f"document {i}: " + "words and more words " * int(n) for i, n in enumerate(rng.integers(1, 40, 60))]
    for k in range(2):
        pq.write_table(pa.table({"text": texts[k::2], "id": range(30)}), f"docs-{k}.parquet", row_group_size=8)
    Path("docs.jsonl").write_text("".join(json.dumps({"text": text, "n": 1}) + "\n" for text in texts))
    rows = [{"image": bytes([i]), "label": i, "box": [0.0, 0.5, 1.0, float(i)]} for i in range(70)]
    Path("train-0.tfrecord").write_bytes(tfrecords(map(example, rows)))
    for k in range(2):
        size = 700
        columns = {
            "price": rng.uniform(1, 100, size),
            "volume": pa.array(rng.integers(0, 50, size), mask=rng.random(size) < 0.1),
            "age": rng.integers(0, 9, size),
            "country": rng.choice(["DE", "FR", "IT"], size),
            "sold": rng.integers(0, 2, size),
        }
        pq.write_table(pa.table(columns), f"trades-{k}.parquet", row_group_size=100)
    Path("images").mkdir()
    for k in range(20):
        Path("images", f"{k}.jpg").write_bytes(jpeg(k))
    Path("captions.csv").write_text("path,caption\n" + "".join(f"{k}.jpg,photo {k}\n" for k in range(20)))
    Path("labels.csv").write_text("id,label\n" + "".join(f"{k},{k % 3}\n" for k in range(20)))


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("code", [code for _, code in SNIPPETS], ids=[name for name, _ in SNIPPETS])
def test_snippet(code: str) -> None:
    for library in ("torch", "tokenizers", "pandas"):
        if library in code:
            pytest.importorskip(library)
    names: dict[str, object] = {}
    exec(compile(code, "docs", "exec"), names)
    assert names["batch"], "the loop ran"


def test_there_are_snippets() -> None:
    assert {name.split("-")[0] for name, _ in SNIPPETS} == set(PAGES)
