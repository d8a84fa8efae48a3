"""Where Pillow gives other pixels than the native decoders: its settings, and kinds of files."""

from __future__ import annotations

import concurrent.futures
import os
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

from .own import is_own
from .words import Unknown

# Pillow's own limit: it warns above, and raises above the double.
MOST_PIXELS = 1024 * 1024 * 1024 // 4 // 3
# File types by name. TIFF and the portable maps have many kinds that Pillow reads in its own way.
JPEG = (".jpg", ".jpeg")
KNOWN = (*JPEG, ".png", ".bmp", ".webp")
HEAD = 26
# How many files are looked at before the first epoch.
FIRST = 32
# Seconds for one header above which several are read at a time: storage with a long way.
SLOW = 0.0005


def check_settings() -> None:
    """Refuse images if the program changed how Pillow reads them.

    ``LOAD_TRUNCATED_IMAGES`` needs no check: the native decoders raise for files that end early, and what they raise for
    is read again by Pillow.
    """
    image = sys.modules.get("PIL.Image")
    if image is None:
        return
    if not is_own(image.open, "PIL") or not is_own(image.Image.convert, "PIL"):
        raise Unknown("a function of Pillow was replaced, so only Python knows how it reads images")
    most = image.MAX_IMAGE_PIXELS
    if most is not None and most < MOST_PIXELS:
        raise Unknown(f"PIL.Image.MAX_IMAGE_PIXELS is {most}, a limit that the native decoders do not have")


def is_other(head: bytes) -> bool:
    """Whether a file that begins so is read in another way by Pillow: 16-bit gray PNG, TIFF, portable maps."""
    if head[:4] == b"\x89PNG":
        return head[24:26] == b"\x10\x00"
    return head[:2] in (b"II", b"MM") or (head[:1] == b"P" and head[1:2].isdigit())


class Headers:
    """The first bytes of image files, read once per file, before the file's first use.

    Files whose names say JPEG are not looked at: the native decoder reads all that Pillow reads.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._known = bytearray(1 if path.lower().endswith(JPEG) else 0 for path in paths)
        unknown = [path for path in paths if not path.lower().endswith(KNOWN)]
        if unknown:
            kind = os.path.splitext(unknown[0])[1] or unknown[0]
            raise Unknown(f"it has files of the type {kind}, which Pillow reads in ways of its own")
        rows = [row for row, known in enumerate(self._known) if not known]
        #: Whether any file has to be looked at.
        self.needed = bool(rows)
        if any(self._is_other(row) for row in rows[:: -(-len(rows) // FIRST) or 1]):
            raise Unknown("it has 16-bit gray images, of which Pillow makes other pixels")

    def __call__(self, rows: Iterable[int]) -> bool:
        """Whether Pillow reads all of these rows as the native decoders do."""
        known = self._known
        new = [row for row in rows if known[row] != 1]
        if not new:
            return True
        start = time.perf_counter()
        found = [self._is_other(new[0])]
        if len(new) > 1 and time.perf_counter() - start > SLOW:
            with concurrent.futures.ThreadPoolExecutor(16) as threads:
                found += threads.map(self._is_other, new[1:])
        else:
            found += map(self._is_other, new[1:])
        return not any(found)

    def _is_other(self, row: int) -> bool:
        if self._known[row] == 0:
            try:
                # Half the time of open(): in the first epoch this is a large part of what small images cost.
                file = os.open(self._paths[row], os.O_RDONLY | os.O_CLOEXEC)
                try:
                    head = os.read(file, HEAD)
                finally:
                    os.close(file)
            except OSError:
                # Reading the sample tells.
                return False
            self._known[row] = 2 if is_other(head) else 1
        return self._known[row] == 2


def check_bytes(images: Iterable[Any]) -> None:
    """Refuse images in memory if Pillow reads one of them in another way."""
    for data in images:
        if is_other(bytes(memoryview(data)[:HEAD])):
            raise Unknown("it has 16-bit gray images, TIFFs or portable maps, of which Pillow makes other pixels")
