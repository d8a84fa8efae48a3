"""Writing shards."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core


class ShardWriter:
    """Writes samples into tar shards that WebDataset and infeed read.

    >>> with infeed.ShardWriter("train-%06d.tar", maxcount=10_000) as out:
    ...     out.write({"__key__": "0001", "jpg": jpeg_bytes, "cls": 3, "json": {"source": "web"}})

    Values: ``bytes`` as they are, ``str`` as UTF-8, ``int`` and ``float`` as text, arrays as ``.npy`` under fields named
    ``npy`` or ``*.npy``, anything else as JSON under fields named ``json`` or ``*.json``. A shard gets its final name
    only when it is complete.
    """

    def __init__(
        self,
        pattern: str | os.PathLike[str],
        *,
        maxcount: int = 100_000,
        maxsize: int = 3_000_000_000,
        start: int = 0,
        mtime: int = 0,
        index: bool = False,
    ) -> None:
        self._core = _core.ShardWriter(
            os.fspath(pattern), maxcount=maxcount, maxsize=int(maxsize), start=start, mtime=mtime, index=index
        )

    def write(self, sample: Mapping[str, Any]) -> None:
        """Write one sample: a dict with ``__key__`` and fields."""
        if "__key__" not in sample:
            raise ValueError("a sample needs a __key__")
        fields = [(n, _encode(n, v)) for n, v in sample.items() if not n.startswith("__")]
        self._core.write(str(sample["__key__"]), fields)

    def close(self) -> list[str]:
        """Finish the last shard; returns the paths of all."""
        return self._core.close()

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            # The current shard is incomplete: it never gets its final name.
            self._core.abandon()


def _encode(field: str, value: Any) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    kind = field.rsplit(".", 1)[-1]
    if isinstance(value, np.ndarray) and kind == "npy":
        import io

        out = io.BytesIO()
        np.save(out, value, allow_pickle=False)
        return out.getvalue()
    if kind == "json":
        return json.dumps(value).encode()
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, np.uint8 | np.integer | np.floating | int | float):
        return str(value).encode()
    if isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 1:
        return value.tobytes()
    raise TypeError(
        f"field {field!r}: cannot write {type(value).__name__}; give bytes, text, a number, or name it .npy or .json"
    )
