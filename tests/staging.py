"""Staging, for its tests: files to stage, and processes that do it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

#: The longest that a process may take: a limit against hangs.
PATIENCE = 120


def make_files(folder: Path) -> Path:
    """Files of many sizes, some of them of several pieces."""
    (folder / "deep").mkdir(parents=True)
    rng = np.random.default_rng(3)
    for number, size in enumerate([0, 1, 70_000, 9_000_000, 33_000_001, 5000, 8 << 20, 17_000_000]):
        (folder / ("deep" if number % 3 else ".") / f"f-{number}.bin").write_bytes(rng.bytes(size))
    return folder


def same(one: Path, other: Path) -> bool:
    names = {path.relative_to(one) for path in one.rglob("*") if path.is_file()}
    return bool(names) and all((one / name).read_bytes() == (other / name).read_bytes() for name in names)


def begin(code: str, *args: object, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", f"import infeed, os, sys, signal, time\n{code}", *map(str, args)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env={**os.environ, **environment})


def said(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, out
    return out.strip()
