"""Writing shards."""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Mapping
from typing import Any

from . import _core
from .encoders import encode


class ShardWriter:
    """Writes samples into tar shards that WebDataset and infeed read.

    >>> with infeed.ShardWriter("train-%06d.tar", maxcount=10_000) as out:
    ...     out.write({"__key__": "0001", "jpg": image, "cls": 3, "json": {"source": "web"}})

    ``bytes`` are written as they are. Other values are encoded as the extension of their field says, which is the part
    of its name behind the last dot:

    * ``jpg``, ``png``, ``webp``, ``tif``, ``bmp``, ``ppm``, ``pgm``, ``pbm``: images of Pillow, arrays (height x width x
      channels) and tensors (channels x height x width); u8, or floating point from 0 to 1
    * ``cls``, ``id``, ``index``: whole numbers; ``txt``, ``text``, ``transcript``: text
    * ``json``: any JSON value; ``npy``: an array or tensor; ``npz``: a dict of them; ``pth``: what ``torch.save`` takes
    * other names: text and numbers, as text

    ``quality`` is that of JPEG; the other formats are lossless. A shard gets its final name only when it is complete: use
    ``with``, or call :meth:`close`. What was not closed is lost, with a ``RuntimeWarning``.
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
        quality: int = 100,
    ) -> None:
        self._quality = quality
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
        fields = [(n, encode(n, v, self._quality)) for n, v in sample.items() if not n.startswith("__")]
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
