"""Files that are not what their name says, because a download went wrong."""

from __future__ import annotations

import contextlib

from ..errors import FormatError

_HEAD = 512
_PAGES = (b"<!doctype html", b"<html", b"<?xml", b"<head")
_POINTER = b"version https://git-lfs.github.com/spec/"


def with_cause(error: FormatError) -> FormatError:
    """The error of a damaged shard, with the cause if the file shows that it is no shard at all."""
    head = b""
    with contextlib.suppress(OSError, ValueError), open(error.shard.removeprefix("file://"), "rb") as file:
        head = file.read(_HEAD)
    words = None
    if head.lstrip().lower().startswith(_PAGES):
        words = "it is HTML, a web page: a download gave a page of an error or a login instead of the data"
    elif head.startswith(_POINTER):
        words = "it is a pointer of Git LFS instead of the data: `git lfs pull` fetches that"
    if words is None:
        return error
    return FormatError(f"{error}; {words}", error.shard, error.offset)
