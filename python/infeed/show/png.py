"""Writes PNG files with nothing but NumPy and the standard library."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

_MAGIC = b"\x89PNG\r\n\x1a\n"
_RGB = 2


def png(pixels: npt.NDArray[Any]) -> bytes:
    """The PNG of u8 pixels, height x width x 3."""
    height, width, _ = pixels.shape
    # Every line begins with the number of its filter: 0 is none.
    lines = np.zeros((height, 1 + width * 3), np.uint8)
    lines[:, 1:] = pixels.reshape(height, width * 3)
    header = struct.pack(">IIBBBBB", width, height, 8, _RGB, 0, 0, 0)
    body = zlib.compress(lines.tobytes(), 6)
    return _MAGIC + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def data_uri(pixels: npt.NDArray[Any]) -> str:
    """The PNG as an address that holds the image itself."""
    return "data:image/png;base64," + base64.b64encode(png(pixels)).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
