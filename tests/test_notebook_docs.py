"""The page on looking at samples says what happens."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import Any

from conftest import jpeg

import infeed

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
    names: dict[str, Any] = {}
    checked = 0
    for kind, code, said in re.findall(r"```(python|console)\n(.*?)```(?:\n\n```text\n(.*?)```)?", PAGE, re.S):
        if kind == "console":
            for line in code.splitlines():
                words = shlex.split(line.removeprefix("$ "), comments=True)
                assert words[:2] == ["infeed", "show"] and infeed.show.command(words[2:]) == 0
                checked += 1
            continue
        *body, last = ast.parse(code).body
        exec(compile(ast.Module(body, []), "notebook.md", "exec"), names)
        assert isinstance(last, ast.Expr)
        shown = eval(compile(ast.Expression(last.value), "notebook.md", "eval"), names)
        if said:
            assert columns(repr(shown)) == columns(said)
            checked += 1
    assert checked == 5 and {"look.html", "grid.png"} <= {path.name for path in Path().iterdir()}
    assert names["data"].fields["jpg"].shape == (64, 64, 3)
