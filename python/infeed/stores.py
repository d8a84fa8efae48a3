"""Stores hold bytes by name. Paths name their store: a plain path or ``file:`` is a local file, ``mem:`` memory.

``infeed list stores`` shows the table.
"""

from __future__ import annotations

from . import _core

__all__ = ["put", "remove"]


def put(name: str, data: bytes | bytearray | memoryview) -> str:
    """Keep a copy of ``data`` in memory under a ``mem:`` name, in place of what was there. Returns the name.

    Every format that can be read from any store can read it: ``infeed.open(put("mem:a.jsonl", b'{"x": 1}'))``.
    The object stays until :func:`remove` or the end of the process.
    """
    if not name.startswith("mem:"):
        raise ValueError(f"a name in memory begins with 'mem:', got {name!r}")
    _core.put_object(name, memoryview(data).cast("B"))
    return name


def remove(name: str) -> bool:
    """Remove an object; returns whether there was one. Loaders that have it open fail when they read it again."""
    return _core.remove_object(name)
