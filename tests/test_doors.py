"""The documentation of the doors runs as it is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "doors.md"


def snippet(section: str) -> str:
    """The code of a section."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks, section
    return "\n".join(blocks)


@pytest.mark.parametrize(
    ("section", "needs"),
    [
        ("NumPy", []),
        ("PyTorch", ["torch"]),
        ("JAX", ["jax"]),
        ("Arrow, Polars, pandas, DuckDB", ["pyarrow", "polars"]),
    ],
)
def test_snippet(section, needs):
    for name in needs:
        pytest.importorskip(name)
    exec(compile(snippet(section), f"doors.md, {section}", "exec"), {})
