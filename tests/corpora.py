"""Token corpora written by hand, and their expected rows, computed with NumPy."""

from __future__ import annotations

import hashlib
import math
import struct
from pathlib import Path

import numpy as np

CODES = {1: np.uint8, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.float64, 7: np.float32, 8: np.uint16}


def mmididx(code: int, sizes: list[int], docs: list[int] | None = None) -> bytes:
    """The bytes of an index, number by number."""
    itemsize = np.dtype(CODES[code]).itemsize
    pointers = [sum(sizes[:i]) * itemsize for i in range(len(sizes))]
    docs = list(range(len(sizes) + 1)) if docs is None else docs
    head = b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, code, len(sizes), len(docs))
    return (
        head
        + struct.pack(f"<{len(sizes)}i", *sizes)
        + struct.pack(f"<{len(sizes)}q", *pointers)
        + struct.pack(f"<{len(docs)}q", *docs)
    )


def tntidx(code: int, sizes: list[int]) -> bytes:
    """The bytes of an index of the older kind."""
    n, itemsize = len(sizes), np.dtype(CODES[code]).itemsize
    offsets = [sum(sizes[:i]) for i in range(n + 1)]
    numbers = [1, code, itemsize, n, n, n + 1, *range(n + 1), *offsets, *sizes, *range(n + 1)]
    return b"TNTIDX\x00\x00" + struct.pack(f"<{len(numbers)}q", *numbers)


def write(folder: Path, name: str, documents: list[list[int]], code: int = 8, legacy: bool = False) -> str:
    """Writes a corpus; returns its prefix."""
    sizes = [len(d) for d in documents]
    flat = np.array([token for d in documents for token in d], CODES[code])
    (folder / f"{name}.idx").write_bytes(tntidx(code, sizes) if legacy else mmididx(code, sizes))
    (folder / f"{name}.bin").write_bytes(flat.tobytes())
    return str(folder / name)


def random_documents(count: int, seed: int, most: int = 40, ids: int = 500) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, ids, rng.integers(0, most)).tolist() for _ in range(count)]


def megatron_split(shares: str, size: int) -> list[int]:
    """Ends of train, valid and test."""
    parts = [float(s) for s in shares.split(",")]
    parts = [*parts, 0.0, 0.0][:3]
    parts = [p / sum(parts) for p in parts]
    ends = [0]
    for part in parts:
        ends.append(ends[-1] + round(part * float(size)))
    over = ends[-1] - size
    return [ends[0], *(end - over for end in ends[1:])]


def megatron(sizes: np.ndarray, documents: np.ndarray, samples: int, length: int, seed: int):
    """Document index, sample index and shuffle index, and the number of epochs."""
    rng = np.random.RandomState(seed)
    tokens = int(sizes[documents].sum())
    epochs = 1
    while (epochs * tokens - 1) // length < samples:
        epochs += 1
    apart = False
    if epochs > 1:
        before = ((epochs - 1) * tokens - 1) // length
        apart = samples - before < int(0.80 * ((tokens - 1) // length))
    groups = []
    for times in [epochs - 1, 1] if apart else [epochs]:
        group = np.tile(documents, times).astype(np.int32)
        rng.shuffle(group)
        groups.append(group)
    doc_idx = np.concatenate(groups)
    ends = np.cumsum(sizes[doc_idx])
    total = (epochs * tokens - 1) // length
    # The position of token k * length, for all k: the document that ends after it, and the offset in that document.
    wanted = np.arange(total + 1) * length
    place = np.searchsorted(ends, wanted, side="right")
    offset = wanted - (ends[place] - sizes[doc_idx[place]])
    sample_idx = np.stack([place, offset], 1).astype(np.int64)
    sample_idx[0] = 0
    first = np.arange(before if apart else total, dtype=np.uint32)
    rng.shuffle(first)
    last = np.arange(len(first), total, dtype=np.uint32)
    if len(last):
        rng.shuffle(last)
    return doc_idx, sample_idx, np.concatenate([first, last]), epochs


def megatron_rows(documents: list[list[int]], which: np.ndarray, samples: int, length: int, seed: int) -> np.ndarray:
    """The tokens of all samples, in their order."""
    sizes = np.array([len(d) for d in documents])
    doc_idx, sample_idx, shuffle_idx, _ = megatron(sizes, which, samples, length, seed)
    rows = []
    for sample in shuffle_idx:
        (first, begin), (last, end) = sample_idx[sample], sample_idx[int(sample) + 1]
        pieces = [documents[doc_idx[place]] for place in range(first, last + 1)]
        pieces[-1] = pieces[-1][: end + 1]
        pieces[0] = pieces[0][begin:]
        rows.append([token for piece in pieces for token in piece])
    return np.array(rows)


def description(prefix: str, samples: int, length: int, seed: int, epochs: int | None, split: str | None) -> str:
    lines = ["GPT Dataset", "", f"Data prefix {prefix}", "Dataset name train", f"Number of samples {samples}"]
    lines += [] if epochs is None else [f"Number of epochs {epochs}"]
    lines += [f"Sequence length {length}", f"Random seed {seed}", f"Split {split}", ""]
    return "\n".join(lines)


def cache_paths(folder: Path, text: str) -> list[Path]:
    stem = hashlib.md5(text.encode()).hexdigest()
    return [folder / (stem + end) for end in (".dsc", "_doc_idx.npy", "_sample_idx.npy", "_shuffle_idx.npy")]


def blending(weights: np.ndarray, size: int) -> list[tuple[int, int]]:
    """The part at each place, and how many rows of that part came before."""
    used = np.zeros(len(weights))
    out = []
    for i in range(size):
        part = int(np.argmax(weights * max(i, 1) - used))
        out.append((part, int(used[part])))
        used[part] += 1
    return out


def blendcorpus(files: list[tuple[float, list[list[int]], str]], samples: int, length: int, seed: int) -> np.ndarray:
    """All rows of a BlendCorpus list: files inside a corpus, then corpora by name."""
    total = 0.0
    for weight, _, _ in files:
        total += weight
    counts = [math.ceil(samples * (weight / total) * 1.005) for weight, _, _ in files]
    corpora = []
    for name in sorted({corpus for _, _, corpus in files}):
        inside = [i for i, (_, _, corpus) in enumerate(files) if corpus == name]
        size = sum(counts[i] for i in inside)
        parts = [megatron_rows(files[i][1], np.arange(len(files[i][1])), counts[i], length, seed) for i in inside]
        weights = np.array([counts[i] for i in inside]) / size
        corpora.append([parts[part][row] for part, row in blending(weights, size)])
    weights = np.array([len(c) / sum(counts) for c in corpora])
    weights /= weights.sum()
    return np.array([corpora[part][row] for part, row in blending(weights, sum(counts))])
