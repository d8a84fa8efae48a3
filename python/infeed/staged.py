"""Staging: copies of shards on storage of the node."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from . import _core
from ._typing import Share


class Staged(os.PathLike[str]):
    """Files that were staged: what :func:`stage` returns.

    It stands for the copies: ``infeed.open(staged)`` and the functions of single formats read them. As a path it is their
    folder: ``staged / "train-000.tar"``. Their folder counts as used for as long as this object, or a loader that reads
    copies, lives.
    """

    def __init__(self, files: _core.StagedFiles) -> None:
        self._files = files

    @property
    def folder(self) -> Path:
        """The folder of the copies."""
        return self._files.folder

    @property
    def found_by(self) -> str:
        """What the folder comes from: ``given``, or the place that it was found in (``$TMPDIR``)."""
        return self._files.found_by

    @property
    def paths(self) -> list[str]:
        """The copies of the files and folders that the sources name, in their order."""
        return [str(path) for path in self._files.roots]

    @property
    def files(self) -> int:
        """How many files the sources are."""
        return self._files.counts[0]

    @property
    def bytes(self) -> int:
        """Their size in bytes."""
        return self._files.counts[1]

    @property
    def kept(self) -> int:
        """How many of them were there already."""
        return self._files.counts[2]

    @property
    def copied_bytes(self) -> int:
        """How many bytes this process read from the sources."""
        return self._files.counts[4]

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self._files.seconds

    def clean_up(self) -> bool:
        """Remove the copies, unless another process uses them. Returns whether they were removed.

        Files in the folder that were not staged stay. Loaders of this process read the sources from then on, if they
        were opened with ``staged=``.
        """
        return self._files.clean_up(False)

    def __fspath__(self) -> str:
        return str(self.folder)

    def __truediv__(self, name: str | os.PathLike[str]) -> Path:
        return self.folder / name

    def __repr__(self) -> str:
        return f"Staged({self.files} files, {_size(self.bytes)}, in {os.fspath(self)!r})"


def stage(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    folder: str | os.PathLike[str] | None = None,
    *,
    verify: bool = False,
    share: Share | None = None,
    clean: bool = False,
    threads: int | None = None,
    progress: bool | None = None,
) -> Staged:
    """Copy files to storage of this node, as ``infeed stage`` does, and return the copies.

    ``paths`` is what :func:`infeed.open` takes: files, folders, patterns, of any store. ``folder`` is where the copies
    go; without it a folder is made below ``$SLURM_TMPDIR``, ``$TMPDIR`` or ``/local/scratch``, whichever comes first.

    Copies that are there and complete are kept; those of files that have changed since are made anew. A run that was
    interrupted or killed goes on where it was. Several processes may stage into one folder at the same time: each file is
    copied by one of them, and all return when everything is there.

    ``verify`` reads every copy back and compares checksums. ``share="node"`` divides the files among the ranks of a node,
    ``share="job"`` among all ranks, each of which then copies its share and nothing else (see :func:`infeed.world`).
    ``clean`` removes the copies when the last process that uses them ends. ``progress`` shows a line on ``stderr``; by
    default if that is a terminal.
    """
    from .launch import world
    from .sources.paths import path_list

    place = (0, 1, 0, 1)
    if share is not None:
        here = world()
        place = (here.rank, here.size, here.local_rank, here.local_size)
    if progress is None:
        progress = sys.stderr is not None and sys.stderr.isatty()
    to = None if folder is None else os.fspath(folder)
    line = _Line(sys.stderr) if progress else None
    try:
        files = _core.stage(path_list(paths), to, verify, share, place, threads, line)
    finally:
        if line is not None:
            line.end()
    if clean:
        atexit.register(_leave, files, os.getpid())
    return Staged(files)


def _leave(files: _core.StagedFiles, process: int) -> None:
    """Remove the copies at the end of the process that staged them, not in a fork of it."""
    if os.getpid() == process:
        try:
            files.clean_up(True)
        except OSError as error:
            print(f"infeed: the staged files in {files.folder} could not be removed: {error}", file=sys.stderr)


class _Line:
    """A line of text that shows how far it is."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._start = time.monotonic()
        self._width = 0

    def __call__(self, files: int, all_files: int, done: int, all_bytes: int, copied: int, waiting: int) -> None:
        rate = copied / max(time.monotonic() - self._start, 1e-9)
        left = f"{(all_bytes - done) / rate:.0f} s left" if rate else "? left"
        others = f", waiting for {waiting} that other processes copy" if waiting else ""
        sizes = f"{_size(done)} of {_size(all_bytes)}, {_size(rate)}/s"
        text = f"staging {files} of {all_files} files, {sizes}, {left}{others}"
        self._out.write(f"\r{text:<{self._width}}")
        self._out.flush()
        self._width = len(text)

    def end(self) -> None:
        if self._width:
            self._out.write(f"\r{'':<{self._width}}\r")
            self._out.flush()


def _size(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
