"""Objects of zarr-python, versions 2 and 3."""

from __future__ import annotations

import sys
from typing import Any

from .place import Place

#: Schemes of fsspec, and those of infeed.
_SCHEMES = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "az", "hf": "hf"}
#: Options of fsspec that change nothing about which data is read.
_HARMLESS = {"anon", "asynchronous", "loop", "skip_instance_cache", "use_listings_cache", "auto_mkdir"}


def zarr_place(data: Any, kind: str, wanted: list[str] | None) -> Place:
    """The folder of a group or array."""
    root, path = _folder(data.store), data.path.strip("/")
    if kind == "zarr.Group":
        return Place("zarr", _below(root, path), None if wanted is None else [name.strip("/") for name in wanted])
    if getattr(data, "_is_view", False):
        raise ValueError("this array of zarr is a view: give the array that it was made of")
    above, _, name = path.rpartition("/")
    if name and _is_group(data, above):
        return Place("zarr", _below(root, above), [name])
    return Place("zarr", _below(root, path), None)


def _below(root: str, path: str) -> str:
    return f"{root.rstrip('/')}/{path}" if path else root


def _is_group(data: Any, path: str) -> bool:
    """Whether there is a group above an array, which knows the array by its name."""
    try:
        sys.modules["zarr"].open_group(data.store, mode="r", path=path)
    except Exception:  # Whatever it says, there is no group that can be read.
        return False
    return True


def _folder(store: Any) -> str:
    kind = type(store).__name__
    inner = getattr(store, "_store", None)
    if kind in ("LoggingStore", "WrapperStore") and inner is not None:
        return _folder(inner)
    if kind == "LocalStore":
        return str(store.root)
    if kind in ("DirectoryStore", "NestedDirectoryStore", "TempStore"):
        return str(store.path)
    if kind == "ZipStore":
        return str(store.path)
    if kind in ("FsspecStore", "FSStore"):
        return _url(store.fs, store.path)
    if kind in ("MemoryStore", "GpuMemoryStore", "KVStore", "dict"):
        raise ValueError(
            "this store of zarr is in memory: write it to a folder (zarr.save, or another store), or give"
            " infeed.arrays(x=array[...])"
        )
    raise ValueError(
        f"infeed does not know where a {kind} of zarr lies: give its folder or URL, infeed.zarr('s3://...')"
    )


def _url(fs: Any, path: str) -> str:
    fs = getattr(fs, "sync_fs", None) or fs
    protocol = fs.protocol if isinstance(fs.protocol, str) else fs.protocol[0]
    if protocol in ("file", "local"):
        return path
    if protocol in ("http", "https"):
        url = path
    elif protocol in _SCHEMES:
        url = f"{_SCHEMES[protocol]}://{path.partition('://')[2] or path.lstrip('/')}"
    else:
        raise ValueError(
            f"infeed has no store for fsspec's {protocol!r}: copy {path!r} to a folder and give its"
            " path, infeed.zarr(path)"
        )
    options = set(getattr(fs, "storage_options", None) or {}) - _HARMLESS
    if options:
        raise ValueError(
            f"this store was opened with {min(options)}=, which infeed does not take over: give infeed.zarr({url!r}) and"
            " say it to .with_store(...)"
        )
    return url
