"""An RNTuple put together by hand: what uproot reads and cannot write.

Split, zigzag and differences, small floats, several pages and clusters, checksums of pages, large locators, two
representations of a field, projected fields, and columns that were added later.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import handmade
import numpy as np
import xxhash

ENTRIES = 9
# The entries of each cluster. The first two are in a group.
CLUSTERS = [(0, 3), (3, 2), (5, 4)]
LATE = 7


def text(value: str) -> bytes:
    """A text with its length."""
    return struct.pack("<I", len(value)) + value.encode()


def record(payload: bytes) -> bytes:
    """A frame."""
    return struct.pack("<q", len(payload) + 8) + payload


def listed(items: list[bytes], more: bytes = b"") -> bytes:
    """A list of frames."""
    payload = struct.pack("<I", len(items)) + b"".join(items) + more
    return struct.pack("<q", -(len(payload) + 8)) + payload


def envelope(kind: int, payload: bytes) -> bytes:
    """An envelope with its checksum."""
    data = struct.pack("<Q", kind | (len(payload) + 16) << 16) + payload
    return data + struct.pack("<Q", xxhash.xxh3_64_intdigest(data))


def split(values: np.ndarray[Any, Any]) -> bytes:
    """All first bytes, then all second ones."""
    return np.ascontiguousarray(values.view("u1").reshape(len(values), -1).T).tobytes()


def packed(values: np.ndarray[Any, Any], bits: int) -> bytes:
    """Numbers of so many bits."""
    all_bits = (values.astype("u8")[:, None] >> np.arange(bits, dtype="u8")) & 1
    return np.packbits(all_bits.astype("u1").ravel(), bitorder="little").tobytes()


def stored(kind: int, bits: int, values: np.ndarray[Any, Any], span: tuple[float, float] | None) -> bytes:
    """A page."""
    if kind == 0x00:
        return np.packbits(values.astype("u1"), bitorder="little").tobytes()
    if kind == 0x1C:
        return packed(values.astype("f4").view("u4") >> (32 - bits), bits)
    if kind == 0x1D and span is not None:
        return packed(np.round((values - span[0]) / (span[1] - span[0]) * (2**bits - 1)), bits)
    if kind in (0x11, 0x13, 0x15):
        wide = values.astype("i8")
        return split(((wide << 1) ^ (wide >> 63)).astype(f"<u{bits // 8}"))
    if kind in (0x1A, 0x1B):
        return split(np.diff(values, prepend=0).astype(f"<u{bits // 8}"))
    number = "f" if kind in (0x0B, 0x0C, 0x0D, 0x17, 0x18, 0x19) else "u"
    raw = values.astype(f"<{number}{bits // 8}")
    return split(raw) if kind > 0x10 else raw.tobytes()


class Maker:
    """An n-tuple in the making."""

    def __init__(self) -> None:
        self.fields: list[bytes] = []
        self.columns: list[bytes] = []
        self.aliases: list[bytes] = []
        # What each column has in each cluster: pages, or nothing if another representation has it.
        self.pages: list[tuple[int, int, Any, list[list[np.ndarray[Any, Any]] | None]]] = []

    def field(
        self, name: str, kind: str, role: int = 0, *, above: int | None = None, repeats: int = 0, source: int = -1
    ) -> int:
        """Adds a field."""
        number = len(self.fields)
        flags = (1 if repeats else 0) | (2 if source >= 0 else 0)
        data = struct.pack("<IIIHH", 0, 0, number if above is None else above, role, flags)
        data += text(name) + text(kind) + text("") + text("")
        data += struct.pack("<Q", repeats) if repeats else b""
        data += struct.pack("<I", source) if source >= 0 else b""
        self.fields.append(record(data))
        return number

    def column(
        self, field: int, kind: int, bits: int, parts: Any, *, form: int = 0, first: int = 0, span: Any = None
    ) -> int:
        """Adds a column, with its elements in each cluster."""
        flags = (1 if first else 0) | (2 if span else 0)
        data = struct.pack("<HHIHH", kind, bits, field, flags, form)
        data += struct.pack("<Q", first) if first else b""
        data += struct.pack("<dd", *span) if span else b""
        self.columns.append(record(data))
        pages = [None if part is None else [half for half in np.array_split(part, 2) if len(half)] for part in parts]
        self.pages.append((kind, bits, span, pages))
        return len(self.columns) - 1

    def number(self, name: str, kind: str, code: int, bits: int, values: Any, **more: Any) -> None:
        """Adds a field of numbers."""
        self.column(self.field(name, kind), code, bits, per_cluster(values), **more)

    def alias(self, column: int, field: int) -> None:
        """Adds a column of another field."""
        self.aliases.append(record(struct.pack("<II", column, field)))


def per_cluster(values: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """The elements of each cluster."""
    return [values[first : first + count].ravel() for first, count in CLUSTERS]


def ends(counts: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Where lists end, counted in each cluster."""
    return [np.cumsum(part) for part in per_cluster(counts)]


def items(counts: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """The elements of the lists of each cluster."""
    borders = np.concatenate([[0], np.cumsum(counts)])
    return [values[borders[first] : borders[first + count]].ravel() for first, count in CLUSTERS]


def fill(made: Maker) -> tuple[dict[str, tuple[Any, Any]], int, int]:
    """Adds fields of every kind; what they hold, and how many fields and columns were there from the start."""
    numbers = np.arange(ENTRIES)
    signed = (numbers - 4) * 1001
    truth: dict[str, tuple[Any, Any]] = {}

    def plain(name: str, kind: str, code: int, bits: int, values: Any, dtype: str, **more: Any) -> None:
        made.number(name, kind, code, bits, values, **more)
        truth[name] = (values.astype(dtype), None)

    plain("i16", "std::int16_t", 0x11, 16, signed, "i2")
    plain("u16", "std::uint16_t", 0x12, 16, numbers * 7001, "u2")
    plain("i32", "std::int32_t", 0x13, 32, signed * 10**5, "i4")
    plain("u32", "std::uint32_t", 0x14, 32, numbers * 400_000_001, "u4")
    plain("i64", "std::int64_t", 0x15, 64, signed * 10**14, "i8")
    plain("u64", "std::uint64_t", 0x16, 64, numbers * 10**18, "u8")
    plain("half", "float", 0x0B, 16, numbers / 8 - 0.5, "f4")
    plain("half_split", "float", 0x17, 16, numbers / 4 - 1, "f4")
    plain("f32", "float", 0x18, 32, numbers / 7, "f4")
    plain("f64", "double", 0x19, 64, numbers / 7, "f8")
    plain("double32", "double", 0x18, 32, (numbers / 7).astype("f4").astype("f8"), "f8")
    plain("truncated", "float", 0x1C, 20, numbers / 8 - 0.25, "f4")
    plain("steps", "float", 0x1D, 10, numbers * 25.75 - 8, "f4", span=(-8.0, -8 + 1023 * 0.25))
    plain("byte", "std::byte", 0x01, 8, numbers * 31, "u1")
    plain("letter", "char", 0x02, 8, numbers + 65, "i1")
    counts = numbers * 5 % 4
    total = int(counts.sum())
    values = (np.arange(total) / 3).astype("f4")
    field = listed_field = made.field("list", "std::vector<float>", 1)
    list_ends = made.column(field, 0x1B, 64, ends(counts))
    made.column(made.field("_0", "float", above=field), 0x0C, 32, items(counts, values))
    truth["list"] = (values, counts)
    words = ["abc" * int(count) for count in counts]
    field = made.field("word", "std::string")
    made.column(field, 0x1A, 32, ends(counts * 3))
    made.column(field, 0x02, 8, items(counts * 3, np.frombuffer("".join(words).encode(), "u1")))
    truth["word"] = (np.frombuffer("".join(words).encode(), "u1"), counts * 3)
    hits = made.field("hits", "", 1)
    hit_ends = made.column(hits, 0x0F, 64, ends(counts))
    hit = made.field("_0", "", 2, above=hits)
    x = made.column(made.field("x", "std::int32_t", above=hit), 0x07, 32, items(counts, np.arange(total) - 5))
    truth["hits.x"] = ((np.arange(total) - 5).astype("i4"), counts)
    vector = made.field("v", "std::array<float,3>", above=hit, repeats=3)
    triples = np.arange(total * 3, dtype="f4").reshape(-1, 3)
    made.column(made.field("_0", "float", above=vector), 0x18, 32, items(counts, triples))
    truth["hits.v"] = (triples, counts)
    grid = made.field("grid", "std::array<std::array<std::int16_t,2>,3>", repeats=3)
    inner = made.field("_0", "std::array<std::int16_t,2>", above=grid, repeats=2)
    cells = (np.arange(ENTRIES * 6) * 11 - 300).reshape(-1, 3, 2)
    made.column(made.field("_0", "std::int16_t", above=inner), 0x11, 16, per_cluster(cells))
    truth["grid"] = (cells.astype("i2"), None)
    bits = (np.arange(ENTRIES * 5) % 3 == 0).reshape(-1, 5)
    made.column(made.field("bits", "std::bitset<5>", repeats=5), 0x00, 1, per_cluster(bits))
    truth["bits"] = (bits, None)
    colour = made.field("colour", "Colour")
    made.column(made.field("_0", "std::int32_t", above=colour), 0x13, 32, per_cluster(numbers % 3))
    truth["colour"] = ((numbers % 3).astype("i4"), None)
    place = made.field("place", "Place", 2)
    base = made.field(":_0", "Base", 2, above=place)
    made.column(made.field("b", "std::int8_t", above=base), 0x03, 8, per_cluster(signed % 100))
    made.column(made.field("x", "double", above=place), 0x0D, 64, per_cluster(numbers / 3))
    truth["place.b"] = ((signed % 100).astype("i1"), None)
    truth["place.x"] = (numbers / 3, None)
    made.alias(list_ends, made.field("size", "ROOT::RNTupleCardinality<std::uint32_t>", source=listed_field))
    truth["size"] = (counts.astype("u4"), None)
    xs = made.field("xs", "std::vector<std::int32_t>", 1, source=hits)
    made.alias(hit_ends, xs)
    made.alias(x, made.field("_0", "std::int32_t", above=xs, source=hit + 1))
    truth["xs"] = truth["hits.x"]
    field = made.field("either", "float")
    parts = per_cluster(numbers / 2)
    made.column(field, 0x18, 32, [parts[0], None, parts[2]])
    made.column(field, 0x0B, 16, [None, parts[1], None], form=1)
    truth["either"] = ((numbers / 2).astype("f4"), None)
    nested = made.field("nested", "std::vector<std::vector<std::int32_t>>", 1)
    made.column(nested, 0x0F, 64, ends(numbers * 0))
    inner = made.field("_0", "std::vector<std::int32_t>", 1, above=nested)
    made.column(inner, 0x0F, 64, items(numbers * 0, numbers[:0]))
    made.column(made.field("_0", "std::int32_t", above=inner), 0x07, 32, items(numbers * 0, numbers[:0]))
    streamed = made.field("object", "TH1F", 4)
    made.column(streamed, 0x0F, 64, ends(numbers * 0))
    made.column(streamed, 0x01, 8, items(numbers * 0, numbers[:0]))
    start = len(made.fields), len(made.columns)
    late = np.where(numbers < LATE, 0, numbers) / 3
    made.column(made.field("late", "double"), 0x19, 64, [late[:0], late[:0], late[LATE:]], first=LATE)
    truth["late"] = (late, None)
    field = made.field("late_list", "std::vector<std::uint8_t>", 1)
    made.column(field, 0x1B, 64, [numbers[:0], numbers[:0], np.array([2, 5])], first=LATE)
    made.column(made.field("_0", "std::uint8_t", above=field), 0x04, 8, [numbers[:0], numbers[:0], numbers[:5] * 3])
    truth["late_list"] = ((numbers[:5] * 3).astype("u1"), np.array([0] * LATE + [2, 3]))
    return truth, *start


def write(path: Path) -> dict[str, tuple[Any, Any]]:
    """Writes the file; what it holds: the elements of each field, and how many an entry has if they differ."""
    file, made = handmade.Writer(), Maker()
    truth, fields, columns = fill(made)

    def put(data: bytes, pack: bool = False) -> tuple[int, int]:
        """Writes bytes; where they are, and how many."""
        body = zlib.compress(data)
        if pack and len(body) + 9 < len(data):
            sizes = struct.pack("<I", len(body))[:3] + struct.pack("<I", len(data))[:3]
            data = b"ZL\x08" + sizes + body
        # A gap, so that places differ from counts.
        file.data += bytes(3) + data
        return len(file.data) - len(data), len(data)

    def locator(seek: int, size: int, large: bool) -> bytes:
        if large:
            return struct.pack("<iQQ", -(20 | 1 << 24), size, seek)
        return struct.pack("<iQ", size, seek)

    head = struct.pack("<Q", 0) + text("nt") + text("") + text("by hand")
    head += listed(made.fields[:fields]) + listed(made.columns[:columns]) + listed(made.aliases) + listed([])
    header = envelope(1, head)
    sum_of_header = header[-8:]
    header_place = put(header, pack=True)
    groups = []
    for first, last in ((0, 2), (2, 3)):
        summaries, lists = [], []
        for cluster in range(first, last):
            summaries.append(record(struct.pack("<QQ", *CLUSTERS[cluster])))
            own = []
            # Columns that were added later are not in the first group.
            for number, (kind, bits, span, pages) in enumerate(made.pages[: columns if first == 0 else None]):
                parts = pages[cluster]
                if parts is None:
                    own.append(listed([], struct.pack("<q", -(2**63))))
                    continue
                inner = []
                for part in parts:
                    body, checked = stored(kind, bits, part, span), number % 2 == 0
                    seek, size = put(body, pack=True)
                    if checked:
                        file.data += struct.pack("<Q", xxhash.xxh3_64_intdigest(bytes(file.data[seek:])))
                    count = struct.pack("<i", -len(part) if checked else len(part))
                    inner.append(count + locator(seek, size, number % 3 == 0))
                own.append(listed(inner, struct.pack("<qI", 0, 101)))
            lists.append(listed(own))
        data = envelope(3, sum_of_header + listed(summaries) + listed(lists))
        entries = [CLUSTERS[cluster] for cluster in range(first, last)]
        link = struct.pack("<Q", len(data)) + locator(*put(data, pack=True), large=first == 0)
        span_of = struct.pack("<QQI", entries[0][0], sum(count for _, count in entries), len(entries))
        groups.append(record(span_of + link))
    more = listed(made.fields[fields:]) + listed(made.columns[columns:]) + listed([]) + listed([])
    footer = envelope(2, struct.pack("<Q", 0) + sum_of_header + record(more) + listed(groups))
    footer_place = put(footer)
    anchor = struct.pack(">HHHH", 1, 0, 0, 0)
    for (seek, size), data in ((header_place, header), (footer_place, footer)):
        anchor += struct.pack(">QQQ", seek, size, len(data))
    anchor += struct.pack(">Q", 1 << 30)
    whole = handmade.counted(2, anchor) + struct.pack(">Q", xxhash.xxh3_64_intdigest(anchor))
    seek = len(file.data)
    key = handmade.key("ROOT::RNTuple", "nt", len(whole), len(whole), seek)
    file.data += key + whole
    file.keys.append(key)
    path.write_bytes(file.close())
    return truth
