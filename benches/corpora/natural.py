"""Natural text without a network: documentation, licences and sources from any machine with Python.

Files are cut into paragraphs, paragraphs that came before are left out (licences would be most of it otherwise), the
rest is shuffled and put together to documents of 0.5 to 8 KB, as in corpora of web text.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import os
import random
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

#: Prose is taken first; source text fills up what is missing.
PROSE = (".md", ".rst", ".txt", ".html", ".pod", ".gz", ".copyright")
SOURCE = (".py", ".pyi", ".c", ".h", ".pm", ".pl")
LARGEST = 2_000_000
HIDDEN = re.compile(r"(?is)<(script|style|head|nav)\b.*?</\1\s*>")
BLOCK_END = re.compile(r"(?i)</(?:p|div|li|h\d|pre|dd|dt|tr|section)\s*>")
TAG = re.compile(r"<[^<>]*>")
BLANK = re.compile(r"\n\s*\n")


def places(more: list[Path]) -> list[Path]:
    """Folders to look through."""
    paths = sysconfig.get_paths()
    known = [
        Path("/usr/share/doc"),
        Path("/usr/share/common-licenses"),
        Path("/usr/share/perl"),
        Path("/usr/lib/python3"),
    ]
    known += [Path(paths["stdlib"]), Path(paths["purelib"]), *more]
    return list(dict.fromkeys(p.resolve() for p in known if p.is_dir()))


def listed(folders: list[Path]) -> tuple[list[str], list[str]]:
    """Files of prose and of source text, each in an order that does not depend on the file system."""
    prose: set[str] = set()
    source: set[str] = set()
    for folder in folders:
        for root, _, names in os.walk(folder):
            for name in names:
                ending = os.path.splitext(name)[1].lower()
                if ending in PROSE or name in ("copyright", "LICENSE", "NOTICE", "METADATA", "README"):
                    prose.add(os.path.join(root, name))
                elif ending in SOURCE:
                    source.add(os.path.join(root, name))
    shuffled = [sorted(prose), sorted(source)]
    for files in shuffled:
        random.Random(0).shuffle(files)
    return shuffled[0], shuffled[1]


def content(path: str) -> str:
    """The text of a file; empty if it is not text."""
    try:
        if path.endswith(".gz"):
            with gzip.open(path) as file:
                raw = file.read(LARGEST)
        else:
            with open(path, "rb") as file:
                raw = file.read(LARGEST)
        text = raw.decode()
    except (OSError, EOFError, UnicodeDecodeError, gzip.zlib.error):
        return ""
    if ".html" in path:
        text = html.unescape(TAG.sub(" ", BLOCK_END.sub("\n\n", HIDDEN.sub("", text))))
    return text


def is_text(paragraph: str) -> bool:
    """No tables of numbers, no data written as source."""
    letters = sum(c.isalpha() or c == " " for c in paragraph)
    return len(paragraph) >= 80 and letters >= 0.7 * len(paragraph) and max(map(len, paragraph.split())) < 80


def pieces(text: str) -> Iterator[str]:
    """Paragraphs; long ones, which are seldom prose, cut at ends of lines."""
    for paragraph in BLANK.split(text):
        held: list[str] = []
        for line in paragraph.strip("\n").rstrip().split("\n"):
            if sum(map(len, held)) + len(line) > 2000:
                yield "\n".join(held)
                held = []
            held.append(line[:2000])
        yield "\n".join(held)


def paragraphs(files: list[str], seen: set[bytes]) -> Iterator[str]:
    """Paragraphs that have not been seen."""
    for path in files:
        for paragraph in pieces(content(path)):
            if not is_text(paragraph):
                continue
            mark = hashlib.blake2b(" ".join(paragraph.split()).encode(), digest_size=8).digest()
            if mark not in seen:
                seen.add(mark)
                yield paragraph


def documents(size: int, more: list[Path]) -> list[str]:
    """Documents of about `size` bytes in total, fewer if the machine has no more."""
    seen: set[bytes] = set()
    found: list[str] = []
    total = 0
    prose, source = listed(places(more))
    for files in (prose, source):
        for paragraph in paragraphs(files, seen):
            if total >= size:
                break
            found.append(paragraph)
            total += len(paragraph.encode())
    rng = random.Random(1)
    rng.shuffle(found)
    made: list[str] = []
    held: list[str] = []
    length, wanted = 0, rng.randint(500, 6500)
    for paragraph in found:
        held.append(paragraph)
        length += len(paragraph)
        if length >= wanted:
            made.append("\n\n".join(held))
            held, length, wanted = [], 0, rng.randint(500, 6500)
    return made
