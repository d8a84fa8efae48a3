"""Open files in people's hands (h5py, netCDF4, zarr, xarray, dask): the same files, read by the engine.

An object is taken only where it is the data of its file and nothing else: opened for reading, not sliced, not computed
with. No library is imported: an object that is here has imported its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...pipeline import Pipeline
from .kinds import GROUPS, opened_kind
from .place import Place, together

__all__ = ["from_arrays", "from_opened", "is_group", "lies_in_a_file"]


def is_group(data: Any) -> bool:
    """Whether an object is an open file, or a group or data set of several arrays."""
    return opened_kind(data) in GROUPS


def lies_in_a_file(data: Any) -> bool:
    """Whether an object is an array whose values are not in memory."""
    kind = opened_kind(data)
    if kind in ("xarray.DataArray", "xarray.Variable"):
        return not _in_memory(data)
    return kind is not None and kind not in GROUPS


def _in_memory(data: Any) -> bool:
    """Whether all values of an object of xarray are in memory."""
    if hasattr(data, "data_vars"):
        return all(map(_in_memory, data.data_vars.values()))
    return bool(getattr(getattr(data, "variable", data), "_in_memory", True))


def from_opened(data: Any, args: Mapping[str, Any] | None = None) -> Pipeline | None:
    """The pipeline over the file behind an open object; None if it is none. ``args`` are those of the file's format."""
    kind = opened_kind(data)
    if kind is None or (kind.startswith("xarray.") and _in_memory(data)):
        return None
    args = dict(args or {})
    wanted = args.pop("variables", None)
    if wanted is not None:
        wanted = [wanted] if isinstance(wanted, str) else list(wanted)
        if kind not in GROUPS:
            raise TypeError(f"variables= chooses arrays of a file, and this is one array: {_short(data)}")
    return _pipeline(_place(kind, data, wanted, args), args)


def from_arrays(fields: Mapping[str, Any]) -> Pipeline | None:
    """The pipeline over arrays of one file that are given by name; None if none of them lies in a file."""
    lazy = {name: data for name, data in fields.items() if lies_in_a_file(data)}
    if not lazy:
        return None
    if len(lazy) < len(fields):
        name, other = next(iter(lazy)), next(name for name in fields if name not in lazy)
        raise TypeError(
            f"the field {name!r} lies in a file, and {other!r} in memory: read it first, {name}=data[...], or read the"
            " file alone, infeed.arrays(data)"
        )
    places = {name: _place(str(opened_kind(data)), data, None, {}) for name, data in lazy.items()}
    for name, place in places.items():
        own = (place.variables or ["data"])[0]
        if own != name:
            raise TypeError(
                f"the field {name!r} is called {own!r} in its file, and keeps that name: infeed.arrays({{{own!r}: data}})"
            )
    return _pipeline(together(places), {})


def _place(kind: str, data: Any, wanted: list[str] | None, args: Mapping[str, Any]) -> Place:
    library, _, _ = kind.partition(".")
    axis = args.get("axis", 0)
    if library == "h5py":
        from .h5 import h5py_place

        return h5py_place(data, kind, wanted, axis)
    if library == "netCDF4":
        from .nc import netcdf4_place

        return netcdf4_place(data, kind, wanted, axis)
    if library == "zarr":
        from .stores import zarr_place

        return zarr_place(data, kind, wanted)
    if kind == "dask.Array":
        from .lazy import dask_original

        original = dask_original(data)
        return _place(_known(original, data), original, None, args)
    from .lazy import xarray_place

    return xarray_place(data, kind, wanted, axis, _place)


def _known(original: Any, data: Any) -> str:
    kind = opened_kind(original)
    if kind is None or kind in GROUPS:
        raise TypeError(
            f"{_short(data)} is made of {type(original).__name__}, which is no array of a file: give"
            " infeed.arrays(x=data.compute()) if it fits into memory, or the path of its files"
        )
    return kind


def _pipeline(place: Place, args: dict[str, Any]) -> Pipeline:
    from .. import formats

    args.setdefault("mask_and_scale", place.scale is not False)
    try:
        return getattr(formats, place.format)(place.path, variables=place.variables, **args)  # type: ignore[no-any-return]
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        unknown = str(error).partition("argument ")[2]
        raise TypeError(
            f"{unknown} is no argument of infeed.{place.format}, which reads this file: arrays of a file and arrays in"
            " memory cannot be given together"
        ) from None


def _short(data: Any) -> str:
    from ..hands import shown

    return shown(data)
