"""Paths as users give them, and the pipelines that begin with them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ..pipeline import Pipeline

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def path_list(paths: Paths) -> list[str]:
    """One path or several, as a list of text."""
    many = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    return [os.fspath(path) for path in many]


def _open(paths: Paths, format: str, args: dict[str, Any]) -> Pipeline:
    return Pipeline({"source": {"paths": path_list(paths), "format": format, "args": args}, "stage": []})


def open(paths: Paths) -> Pipeline:
    """Read shards or images; the format is detected.

    ``paths`` may be one path, a list, a glob, a folder, a brace expansion (``train-{000000..000127}.tar``), several of
    them joined with ``::``, or a ``file:`` URL.
    """
    return _open(paths, "auto", {})
