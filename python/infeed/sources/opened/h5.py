"""Objects of h5py."""

from __future__ import annotations

import os
from typing import Any

from .place import Place, chosen, gone, held, writing

#: Drivers of h5py that keep a file as one file.
_PLAIN = ("sec2", "stdio", "direct", "mpio", "windows")


def h5py_place(data: Any, kind: str, wanted: list[str] | None, axis: int) -> Place:
    """The file of a file, group or data set."""
    if not data:
        raise ValueError("this object of h5py is closed: open its file again, or give its path to infeed.hdf5")
    path = _path(data.file)
    if data.name is None:
        raise ValueError(f"this object of h5py has no name in {path!r}: give infeed.hdf5({path!r}, variables=[...])")
    inside = data.name.strip("/")
    if kind == "h5py.Dataset":
        return Place("hdf5", path, [inside])
    if wanted is not None:
        return Place("hdf5", path, [f"{inside}/{name.strip('/')}".lstrip("/") for name in wanted])
    if not inside:
        return Place("hdf5", path, None)
    shapes: dict[str, Any] = {}

    def see(name: str, item: Any) -> None:
        if hasattr(item, "shape") and item.shape is not None:
            shapes[f"{inside}/{name}"] = item.shape

    data.visititems(see)
    return Place("hdf5", path, chosen(shapes, axis, f"the group {data.name!r}"))


def _path(file: Any) -> str:
    path, driver = os.fsdecode(file.filename), file.driver
    call = f"infeed.hdf5({path!r})"
    if driver == "ros3":
        if path.startswith(("s3://", "https://", "http://")):
            return path
        raise ValueError(f"infeed knows no URL of {path!r}: give it as infeed.hdf5('s3://BUCKET/KEY')")
    if driver == "fileobj":
        raise ValueError(f"h5py reads this file through {path}: give its path or URL, infeed.hdf5('s3://BUCKET/KEY')")
    if driver == "core":
        if file.mode == "r" and os.path.exists(path):
            return path
        raise gone("this file of h5py (driver='core')", path, call)
    if driver not in _PLAIN:
        raise ValueError(f"a file of h5py with driver={driver!r} lies in several files, which infeed does not read")
    if file.mode != "r":
        raise writing("this file of h5py", path, "mode='r'")
    if file.swmr_mode:
        raise writing("this file of h5py (swmr=True)", path, "mode='r' once it is complete")
    if held(path) is None:
        raise gone("this file of h5py", path, call)
    return path
