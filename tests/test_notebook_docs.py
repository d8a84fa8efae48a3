"""The page on looking at samples says what happens."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from conftest import jpeg
from shown import write_coco

import infeed
from infeed.command_line import run

PAGE = (Path(__file__).parent.parent / "docs" / "notebook.md").read_text()


def columns(text: str) -> list[list[str]]:
    """What is printed, without the ranges of values: those are of the data."""
    return [re.split(r"\s{2,}", line.strip())[:3] for line in text.strip().splitlines()]


def test_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with infeed.ShardWriter("train-%03d.tar", maxcount=9) as out:
        for i in range(30):
            out.write(
                {"__key__": f"s{i}", "jpg": jpeg(i, 96, 80), "cls": i % 10, "txt": f"a photo of a thing, number {i}"}
            )
    shutil.copytree(write_coco(Path("coco")).parent / "images", "val2017")
    shutil.copy("coco/instances.json", "instances_val2017.json")
    np.arange(4096, dtype=np.uint16).tofile("corpus.bin")
    names: dict[str, Any] = {}
    checked = 0
    for kind, code, said in re.findall(r"```(python|console)\n(.*?)```(?:\n\n```text\n(.*?)```)?", PAGE, re.S):
        if kind == "console":
            for line in code.splitlines():
                words = shlex.split(line.removeprefix("$ "), comments=True)
                assert words[0] == "infeed" and run(words[1:]) == 0, line
                checked += 1
            continue
        *body, last = ast.parse(code).body
        exec(compile(ast.Module(body, []), "notebook.md", "exec"), names)
        assert isinstance(last, ast.Expr)
        shown = eval(compile(ast.Expression(last.value), "notebook.md", "eval"), names)
        if said:
            assert columns(repr(shown)) == columns(said)
            checked += 1
    assert checked == 9 and {"look.html", "grid.png", "inspect.html", "coco.html"} <= {
        path.name for path in Path().iterdir()
    }
    assert names["data"].fields["jpg"].shape == (64, 64, 3)
