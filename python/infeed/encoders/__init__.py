"""Values of samples as the bytes of a shard: the extension of a field says how, as in WebDataset."""

from __future__ import annotations

from typing import Any

from .common import stored_bytes
from .images import FORMATS, encode_image
from .values import ENCODERS, encode_other

__all__ = ["encode"]

#: Formats that other libraries write. Their bytes can be given.
_OTHERS = {
    "pyd": "pickle.dumps(value)",
    "pkl": "pickle.dumps(value)",
    "pickle": "pickle.dumps(value)",
    "mp": "msgpack.packb(value)",
    "msg": "msgpack.packb(value)",
    "msgpack": "msgpack.packb(value)",
    "cbor": "cbor.dumps(value)",
    "gz": "gzip.compress(data)",
}


def encode(field: str, value: Any, quality: int = 100) -> bytes:
    """The bytes of one field. ``quality`` is that of JPEG."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if value is None:
        raise TypeError(f"field {field!r}: None cannot be written; leave the field out of this sample")
    kind = field.rsplit(".", 1)[-1].lower()
    data = stored_bytes(field, value)
    # Of the arrays of bytes, only those under npy may be values: unless they begin as files of it do.
    if data is not None and (kind not in ("npy", "pth") or data.startswith(b"\x93NUMPY")):
        return data
    if kind in _OTHERS:
        why = " (reading it runs code, so it is not done unasked)" if _OTHERS[kind].startswith("pickle") else ""
        raise TypeError(f"field {field!r}: .{kind} is not encoded here{why}; give its bytes: {_OTHERS[kind]}")
    if kind in FORMATS:
        return encode_image(field, kind, value, quality)
    return ENCODERS.get(kind, encode_other)(field, value)
