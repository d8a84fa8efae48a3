"""Writing shards."""

from __future__ import annotations

import json
import os
import warnings
import weakref
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
    only when it is complete: use ``with``, or call :meth:`close`. What was not closed is lost, with a ``RuntimeWarning``.
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
        self._unfinished = _Unfinished(os.fspath(pattern), maxcount, int(maxsize))
        # Runs when the writer is collected, and at the end of the interpreter.
        weakref.finalize(self, self._unfinished.warn)

    def write(self, sample: Mapping[str, Any]) -> None:
        """Write one sample: a dict with ``__key__`` and fields."""
        if "__key__" not in sample:
            raise ValueError("a sample needs a __key__")
        fields = [(n, _encode(n, v)) for n, v in sample.items() if not n.startswith("__")]
        self._core.write(str(sample["__key__"]), fields)
        self._unfinished.count([len(data) for _, data in fields])

    def close(self) -> list[str]:
        """Finish the last shard; returns the paths of all."""
        self._unfinished.rows = 0
        return self._core.close()

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            # The current shard is incomplete: it never gets its final name.
            self._unfinished.rows = 0
            self._core.abandon()


class _Unfinished:
    """Counts the samples of the shard that has no final name yet, as the engine cuts shards."""

    def __init__(self, pattern: str, maxcount: int, maxsize: int) -> None:
        self.pattern, self.maxcount, self.maxsize = pattern, maxcount, maxsize
        self.rows = self.size = 0
        self.process = os.getpid()

    def count(self, sizes: list[int]) -> None:
        """Count a sample with fields of these sizes. A field has a header, and is padded."""
        coming = sum(1024 + size for size in sizes)
        if self.rows >= self.maxcount or (self.rows and self.size + coming > self.maxsize):
            self.rows = self.size = 0
        self.rows += 1
        self.size += sum(512 + -(-size // 512) * 512 for size in sizes)

    def warn(self) -> None:
        """Warn about samples that are lost. A copy of the writer in a forked process has none of its own."""
        if self.rows and os.getpid() == self.process:
            warnings.warn(
                f"a ShardWriter of {self.pattern!r} was not closed, and the last {self.rows} samples are lost: write"
                " inside `with infeed.ShardWriter(...) as out:`, or call close() at the end",
                RuntimeWarning,
                stacklevel=2,
            )


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
