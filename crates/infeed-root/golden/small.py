"""A tree put together by hand, of `Float16_t` and `Double32_t`: what uproot reads and cannot write."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import handmade
import numpy as np

ENTRIES = 6


def floats(values: np.ndarray[Any, Any]) -> bytes:
    """As float32."""
    return values.astype(">f4").tobytes()


def steps(values: np.ndarray[Any, Any], low: float, high: float, bits: int) -> bytes:
    """As steps of a range."""
    return np.round((values - low) * ((1 << bits) / (high - low))).astype(">u4").tobytes()


def truncated(values: np.ndarray[Any, Any], bits: int) -> bytes:
    """As exponents, and so many bits of mantissas."""
    raw = np.ascontiguousarray(values, "f4").view("u4").ravel()
    signs = (raw >> 31) << (bits + 1)
    mantissas = (raw >> (23 - bits)) & ((1 << bits) - 1)
    pairs = zip(((raw >> 23) & 0xFF).tolist(), (mantissas | signs).tolist(), strict=True)
    return b"".join(struct.pack(">BH", *pair) for pair in pairs)


def write(path: Path) -> dict[str, tuple[Any, Any]]:
    """Writes the file; what it holds: the elements of each field, and how many an entry has if they differ."""
    file = handmade.Writer()
    numbers = np.arange(ENTRIES)
    quarters = numbers / 4 - 0.5
    pairs = (np.arange(2 * ENTRIES) / 2 - 2.5).reshape(-1, 2)
    counts = numbers % 3
    listed = np.arange(int(counts.sum())) / 8 - 0.25
    truth: dict[str, tuple[Any, Any]] = {
        "plain": ((numbers / 7).astype("f4").astype("f8"), None),
        "range": (quarters, None),
        "bits": (quarters, None),
        "half": (quarters.astype("f4"), None),
        "half_range": ((numbers * 2.0).astype("f4"), None),
        "pair": (pairs.astype("f4"), None),
        "pair_range": (pairs + 8, None),
        "list": (listed, counts),
    }
    titles = {"range": "[-8,8,10]", "bits": "[0,0,10]", "half_range": "[0, 16, 8]", "pair": "[2]"}
    titles |= {"pair_range": "[2][0,16,8]", "list": "[n][-1,1,12]"}
    body = {
        "plain": floats(truth["plain"][0]),
        "range": steps(quarters, -8, 8, 10),
        "bits": truncated(quarters, 10),
        "half": truncated(quarters, 12),
        "half_range": steps(truth["half_range"][0], 0, 16, 8),
        "pair": truncated(pairs, 12),
        "pair_range": steps(pairs + 8, 0, 16, 8),
        "list": steps(listed, -1, 1, 12),
    }
    branches = []
    for name, (values, own) in truth.items():
        kind, ends = ("TLeafF16", bytes(6)) if values.dtype == np.float32 else ("TLeafD32", bytes(8))
        starts = None if own is None else [int(start) * 4 for start in np.cumsum(own) - own]
        place = file.basket(name, body[name], starts, ENTRIES)
        counter = bytes(4) if own is None else handmade.leaf("TLeafI", "n", "n", 4)
        length = 2 if "pair" in name else 1
        leaf = handmade.leaf(kind, name, name + titles.get(name, ""), values.itemsize, length, ends, counter)
        branch = handmade.branch(name, [leaf], [place], [0, ENTRIES], ENTRIES, [])
        branches.append(handmade.pointer("TBranch", branch))
    file.tree("events", ENTRIES, branches, 1)
    path.write_bytes(file.close())
    return truth
