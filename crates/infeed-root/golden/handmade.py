"""A ROOT file put together by hand: what uproot reads and cannot write.

Places of 8 bytes, a branch of several leaves, a vector, baskets that lie in the tree, two cycles of a tree.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

FEATURES = b"@\x00\x00\x07\x00\x00\x1a\xa1/\x10\x00"
OBJECT = struct.pack(">HII", 1, 0, 0x03000000)


def text(value: str) -> bytes:
    """A text with its length."""
    return bytes([len(value)]) + value.encode()


def counted(version: int, body: bytes) -> bytes:
    """An object with its length and version."""
    return struct.pack(">IH", (len(body) + 2) | 0x40000000, version) + body


def named(name: str, title: str) -> bytes:
    """The base with a name."""
    return counted(1, OBJECT + text(name) + text(title))


def pointer(kind: str, body: bytes) -> bytes:
    """An object behind a pointer."""
    inner = b"\xff\xff\xff\xff" + kind.encode() + b"\0" + body
    return struct.pack(">I", len(inner) | 0x40000000) + inner


def array(items: list[bytes]) -> bytes:
    """An array of pointers."""
    return counted(3, OBJECT + text("") + struct.pack(">ii", len(items), 0) + b"".join(items))


def key(kind: str, name: str, stored: int, length: int, seek: int, more: int = 0, cycle: int = 1) -> bytes:
    """A key, for an object of so many bytes; `more` bytes of it follow the names."""
    names = text(kind) + text(name) + text("")
    head = 18 + 16 + len(names) + more
    return struct.pack(">iHiIHHQQ", stored + head, 1004, length, 0, head, cycle, seek, 100) + names


def leaf(
    kind: str, name: str, title: str, size: int, length: int = 1, more: bytes | None = None, counter: bytes = bytes(4)
) -> bytes:
    """A leaf, and the one that counts it."""
    base = counted(2, named(name, title) + struct.pack(">iii??", length, size, 0, False, False) + counter)
    return pointer(kind, counted(1, base + (bytes(2 * size) if more is None else more)))


class Writer:
    """A file in the making."""

    def __init__(self) -> None:
        self.data = bytearray(300)
        self.keys: list[bytes] = []

    def basket(self, branch: str, data: bytes, starts: list[int] | None, entries: int) -> tuple[int, int]:
        """Writes a basket; where it lies and how long it is."""
        seek = len(self.data)
        before = len(key("TBasket", branch, 0, 0, 0)) + 19
        body = data
        if starts is not None:
            body += struct.pack(f">{entries + 2}i", entries + 1, *(start + before for start in starts), 0)
        head = key("TBasket", branch, len(body), len(body), seek, 19)
        head += struct.pack(
            ">HiiiiB", 3, 32000, 1000 if starts else len(data) // entries, entries, before + len(data), 0
        )
        self.data += head + body
        return seek, len(head) + len(body)

    def embedded(self, branch: str, data: bytes, starts: list[int] | None, entries: int) -> bytes:
        """A basket for the tree."""
        before = len(key("TBasket", branch, 0, 0, 0)) + 19
        head = bytearray(key("TBasket", branch, 0, 0, 0, 19))
        head[:4] = bytes(4)
        size = 1000 if starts else len(data) // entries
        body = struct.pack(">HiiiiB", 3, 32000, size, entries, before + len(data), 11 if starts else 12)
        if starts is not None:
            body += struct.pack(f">{entries + 1}i", entries, *(start + before for start in starts))
        return pointer("TBasket", bytes(head) + body + bytes(before) + data)

    def tree(self, name: str, entries: int, branches: list[bytes], cycle: int) -> None:
        """Writes a tree."""
        body = named(name, "") + counted(2, bytes(6)) + counted(2, bytes(4)) + counted(2, bytes(8))
        body += struct.pack(">qqqqqd", entries, 0, 0, 0, 0, 1.0) + struct.pack(">iiiiI", 0, 25, 0, 1000, 0)
        body += struct.pack(">6q", 10**12, 10**12, 0, 0, 0, 0) + b"\0\0" + FEATURES
        body += array(branches) + array([]) + bytes(4 + 4 + 4 + 4 + 4 + 4 + 4)
        whole = counted(20, body)
        seek = len(self.data)
        self.data += key("TTree", name, len(whole), len(whole), seek, 0, cycle) + whole
        self.keys.append(key("TTree", name, len(whole), len(whole), seek, 0, cycle))

    def close(self) -> bytes:
        """The bytes of the file."""
        seek = len(self.data)
        listed = struct.pack(">i", len(self.keys)) + b"".join(self.keys)
        self.data += key("TFile", "handmade.root", len(listed), len(listed), seek) + listed
        size = len(self.data) - seek
        own = key("TFile", "handmade.root", 100, 100, 100) + text("handmade.root") + text("")
        head = b"root" + struct.pack(">IIQQIII", 1_062_206, 100, len(self.data), 0, 0, 0, len(own))
        head += b"\x08" + struct.pack(">IQI", 0, 0, 0) + struct.pack(">H", 1) + bytes(16)
        self.data[: len(head)] = head
        top = struct.pack(">HIIiiQQQ", 1005, 0, 0, size, len(own), 100, 0, seek) + struct.pack(">H", 1) + bytes(16)
        self.data[100 : 100 + len(own) + len(top)] = own + top
        return bytes(self.data)


def branch(
    name: str,
    leaves: list[bytes],
    places: list[tuple[int, int]],
    starts: list[int],
    entries: int,
    inside: list[bytes],
) -> bytes:
    """A branch."""
    room = len(places) + 2
    body = named(name, name) + counted(2, bytes(4)) + struct.pack(">iiiiq", 0, 32000, 1000, len(places), entries)
    body += (
        FEATURES + struct.pack(">iIiqqqq", 0, room, 0, entries, 0, 0, 0) + array([]) + array(leaves) + array(inside)
    )
    body += b"\x01" + struct.pack(f">{room}i", *(size for _, size in places), 0, 0)
    body += b"\x01" + struct.pack(f">{room}q", *starts, *([0] * (room - len(starts))))
    body += b"\x01" + struct.pack(f">{room}q", *(seek for seek, _ in places), 0, 0) + text("")
    return counted(13, body)


def write(path: Path) -> None:
    """Writes the file: 5 entries."""
    file = Writer()
    hits = np.zeros(5, [("a", ">f4"), ("b", ">i4", 2), ("c", ">f8")])
    hits["a"], hits["b"], hits["c"] = np.arange(5) / 4, np.arange(10).reshape(5, 2) - 3, np.arange(5) * 1e9
    place = file.basket("hit", hits.tobytes(), None, 5)
    leaves = [leaf("TLeafF", "a", "a", 4), leaf("TLeafI", "b", "b[2]", 4, 2), leaf("TLeafD", "c", "c", 8)]
    branches = [pointer("TBranch", branch("hit", leaves, [place], [0, 5], 5, []))]
    vectors, starts = b"", []
    for count in (2, 0, 3, 1, 0):
        starts.append(len(vectors))
        numbers = (np.arange(count) + len(starts)).astype(">f4").tobytes()
        vectors += struct.pack(">IHi", (6 + len(numbers)) | 0x40000000, 9, count) + numbers
    place = file.basket("vec", vectors, starts, 5)
    leaves = [leaf("TLeafElement", "vec", "vec", 0, 1, struct.pack(">ii", -1, -1))]
    body = branch("vec", leaves, [place], [0, 5], 5, [])
    body += text("vector<float>") + text("") + text("") + struct.pack(">Ihiiii", 0, 6, -1, 0, -1, 0) + bytes(8)
    branches.append(pointer("TBranchElement", counted(10, body)))
    numbers = np.arange(5, dtype=">i4") * 1000
    place = file.basket("late", numbers[:3].tobytes(), None, 3)
    inside = [struct.pack(">I", 0), file.embedded("late", numbers[3:].tobytes(), None, 2)]
    branches.append(
        pointer("TBranch", branch("late", [leaf("TLeafI", "late", "late", 4)], [place], [0, 3], 5, inside))
    )
    words = ["", "a", "bcd", "ü", "x" * 300]
    stored, starts = b"", []
    for word in words:
        starts.append(len(stored))
        raw = word.encode()
        stored += (bytes([len(raw)]) if len(raw) < 255 else b"\xff" + struct.pack(">I", len(raw))) + raw
    inside = [file.embedded("word", stored, starts, 5)]
    own = leaf("TLeafC", "word", "word", 1, 1, struct.pack(">ii", 0, 300))
    branches.append(pointer("TBranch", branch("word", [own], [], [0], 5, inside)))
    file.tree("events", 5, branches[:1], 1)
    file.tree("events", 5, branches, 2)
    path.write_bytes(file.close())
