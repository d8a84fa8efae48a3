"""Writers for formats whose own library is too large for the test environment, written from the specifications."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

#: Code of a type in a Megatron index.
MEGATRON_TYPES = {"u1": 1, "i1": 2, "i2": 3, "i4": 4, "i8": 5, "u2": 8}


def write_megatron(prefix: Path, documents: Sequence[np.ndarray], dtype: str = "u2") -> None:
    """``prefix.bin`` and ``prefix.idx`` of the current layout: one sequence per document."""
    sizes = np.array([len(d) for d in documents], np.int64)
    width = np.dtype(dtype).itemsize
    prefix.with_suffix(".bin").write_bytes(b"".join(d.astype(f"<{dtype}").tobytes() for d in documents))
    head = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, MEGATRON_TYPES[dtype], len(sizes), len(sizes) + 1)
    pointers = (np.cumsum(sizes) - sizes) * width
    arrays = [sizes.astype("<i4"), pointers.astype("<i8"), np.arange(len(sizes) + 1, dtype="<i8")]
    prefix.with_suffix(".idx").write_bytes(head + b"".join(a.tobytes() for a in arrays))


def megatron_samples(documents: Sequence[np.ndarray], length: int, seed: int) -> list[np.ndarray]:
    """One epoch of Megatron's GPT samples: ``length + 1`` tokens each, in the order of its shuffle index."""
    rng = np.random.RandomState(seed)
    order = np.arange(len(documents), dtype=np.int32)
    rng.shuffle(order)
    flat = np.concatenate([documents[i] for i in order])
    shuffle = np.arange((len(flat) - 1) // length, dtype=np.uint32)
    rng.shuffle(shuffle)
    # Each sample begins with the last token of the one before it, across documents.
    return [flat[int(k) * length : int(k) * length + length + 1] for k in shuffle]


CRC_TABLE = [0] * 256
for _byte in range(256):
    _crc = _byte
    for _ in range(8):
        _crc = _crc >> 1 ^ (0x82F63B78 if _crc & 1 else 0)
    CRC_TABLE[_byte] = _crc


def masked_crc32c(data: bytes) -> int:
    """The checksum that TFRecord has after the length and after the data."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def tfrecords(records: Iterable[bytes]) -> bytes:
    """The bytes of a TFRecord file."""
    out = []
    for record in records:
        length = struct.pack("<Q", len(record))
        checks = struct.pack("<I", masked_crc32c(length)), struct.pack("<I", masked_crc32c(record))
        out += [length, checks[0], record, checks[1]]
    return b"".join(out)


def example(row: Mapping[str, Any]) -> bytes:
    """A serialised ``tf.train.Example`` of texts, bytes, whole numbers and floats (or lists of them)."""
    entries = b""
    for name, value in row.items():
        values = value if isinstance(value, list) else [value]
        if isinstance(values[0], bytes | str):
            inner = b"".join(_part(1, v.encode() if isinstance(v, str) else v) for v in values)
            feature = _part(1, inner)
        elif isinstance(values[0], float):
            feature = _part(2, _part(1, struct.pack(f"<{len(values)}f", *values)))
        else:
            feature = _part(3, _part(1, b"".join(_varint(v & (1 << 64) - 1) for v in values)))
        entries += _part(1, _part(1, name.encode()) + _part(2, feature))
    return _part(1, entries)


def _part(number: int, data: bytes) -> bytes:
    """A field of bytes in a protocol buffer."""
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


#: MosaicML's encodings of a value, and its size if that is fixed.
MDS_ENCODINGS: dict[str, tuple[Any, int | None]] = {
    "int": (lambda v: struct.pack("<q", v), 8),
    "float64": (lambda v: struct.pack("<d", v), 8),
    "str": (lambda v: v.encode(), None),
    "bytes": (lambda v: v, None),
}


def write_mds(folder: Path, columns: Mapping[str, str], shards: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    """A folder of MDS shards with its ``index.json``."""
    folder.mkdir(parents=True)
    names = sorted(columns)
    config = {
        "column_encodings": [columns[n] for n in names],
        "column_names": names,
        "column_sizes": [MDS_ENCODINGS[columns[n]][1] for n in names],
        "compression": None,
        "format": "mds",
        "hashes": [],
        "size_limit": 1 << 26,
        "version": 2,
    }
    settings = json.dumps(config, sort_keys=True).encode()
    listed = []
    for number, rows in enumerate(shards):
        samples = [_mds_sample(columns, names, row) for row in rows]
        begin = 4 + 4 * (len(samples) + 1) + len(settings)
        offsets = begin + np.cumsum([0, *map(len, samples)])
        data = struct.pack("<I", len(samples)) + offsets.astype("<u4").tobytes() + settings + b"".join(samples)
        name = f"shard.{number:05d}.mds"
        (folder / name).write_bytes(data)
        raw = {"basename": name, "bytes": len(data), "hashes": {}}
        listed.append({**config, "raw_data": raw, "samples": len(rows), "zip_data": None})
    (folder / "index.json").write_text(json.dumps({"shards": listed, "version": 2}, sort_keys=True))


def _mds_sample(columns: Mapping[str, str], names: Sequence[str], row: Mapping[str, Any]) -> bytes:
    """Sizes of the columns whose size varies, then all columns."""
    parts = [MDS_ENCODINGS[columns[n]][0](row[n]) for n in names]
    varying = [len(p) for n, p in zip(names, parts, strict=True) if MDS_ENCODINGS[columns[n]][1] is None]
    return np.array(varying, "<u4").tobytes() + b"".join(parts)


#: What safetensors calls the types of NumPy.
SAFETENSORS_TYPES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "uint32": "U32",
    "int32": "I32",
    "uint64": "U64",
    "int64": "I64",
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
}


def safetensors_bytes(arrays: Mapping[str, np.ndarray]) -> bytes:
    """A safetensors file: the length of a header, the header, and the arrays one behind the other."""
    header: dict[str, Any] = {"__metadata__": {"format": "np"}}
    data = b""
    for name, array in arrays.items():
        place = [len(data), len(data) + array.nbytes]
        header[name] = {"dtype": SAFETENSORS_TYPES[array.dtype.name], "shape": array.shape, "data_offsets": place}
        data += array.tobytes()
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data
