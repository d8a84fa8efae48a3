"""What must be true when all processes of a run have ended."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

DRAFTS = (".part", ".tmp", ".new")
"""How files end that are written aside and then renamed."""


def locked(folder: Path) -> list[str]:
    """Files that somebody has locked."""
    found = []
    for path in files(folder):
        try:
            handle = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            found.append(str(path))
        finally:
            os.close(handle)
    return found


def drafts(folder: Path) -> list[str]:
    """Files that were not finished."""
    return [str(path) for path in files(folder) if path.name.endswith(DRAFTS)]


def files(folder: Path) -> list[Path]:
    """All files below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []


def command(*words: str | Path) -> tuple[int, str]:
    """The exit code of ``infeed WORDS`` and what it says."""
    line = [sys.executable, "-m", "infeed", *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def problems(cache: Path | None, own: Path, killed: bool) -> list[str]:
    """What is wrong with the cache of the data and with the folder of saved indices; nothing if all is well."""
    found = [f"locked: {path}" for folder in filter(None, (cache, own)) for path in locked(folder)]
    left = drafts(own)
    if cache is not None and cache.is_dir():
        code, said = command("cache", "verify", "--json", cache)
        if code != 0:
            found.append(f"cache verify: {said}")
        told: dict[str, Any] = json.loads(said.splitlines()[0]) if code == 0 else {}
        if killed:
            # What a killed process was writing stays until somebody is alone with the cache, or repairs it.
            command("cache", "verify", "--repair", cache)
        elif told.get("left"):
            found.append(f"cache verify: {said}")
        left += drafts(cache)
    return found + [f"left behind: {path}" for path in left]
