"""Arrays of xarray and dask that stand for data of a file, with nothing done to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .kinds import opened_kind
from .place import Place, chosen, together

_THROUGH = ("MemoryCachedArray", "CopyOnWriteArray", "ImplicitToExplicitIndexingAdapter", "NativeEndiannessArray")
_RANGES = ("valid_range", "valid_min", "valid_max")
_PACKING = ("scale_factor", "add_offset", "_FillValue", "missing_value")
_CURE = "write it to a file first (to_netcdf, to_zarr), or read it into memory: infeed.arrays(x=data.values)"

Finder = Callable[[str, Any, list[str] | None, Mapping[str, Any]], Place]


def xarray_place(data: Any, kind: str, wanted: list[str] | None, axis: int, find: Finder) -> Place:
    """The file of a data set, or of one array of it."""
    if kind == "xarray.Variable":
        raise TypeError("a Variable of xarray has no name: give the DataArray, data[name]")
    if kind == "xarray.DataArray":
        if data.name is None:
            raise ValueError(f"this DataArray has no name, so it is no variable of a file: {_CURE}")
        variables = {str(data.name): data.variable}
    else:
        every = {str(name): each for name, each in data.data_vars.items()}
        taken = chosen({n: v.dims for n, v in every.items()}, axis, "this Dataset") if wanted is None else wanted
        unknown = [name for name in taken if name not in data.variables]
        if unknown:
            raise KeyError(
                f"this Dataset has no variable {unknown[0]!r}; it has {', '.join(map(str, data.variables))}"
            )
        variables = {name: data.variables[name] for name in taken}
    places = {name: _variable(name, variable, find) for name, variable in variables.items()}
    return together(places)


def _variable(name: str, variable: Any, find: Finder) -> Place:
    array, done = variable._data, []
    if opened_kind(array) == "dask.Array":
        array = dask_original(array, f"{name!r}")
    while True:
        kind = type(array).__name__
        if kind == "LazilyIndexedArray":
            key = getattr(array.key, "tuple", ())
            if any(part != slice(None) for part in key):
                raise ValueError(
                    f"{name!r} is a part of a variable: give all of it, and choose rows with subset(slice)"
                )
        elif kind == "_ElementwiseFunctionArray":
            function = getattr(array.func, "func", array.func)
            done.append(getattr(function, "__name__", "a function"))
        elif kind not in _THROUGH:
            break
        array = array.array
    place = _backend(name, array, variable, find)
    stored = (place.variables or ["data"])[0].rpartition("/")[2]
    if place.variables is not None and stored != name:
        raise ValueError(
            f"{name!r} is called {stored!r} in {place.path!r}: infeed.arrays takes it before it is renamed"
        )
    return _unpacked(name, variable, place, done)


def _backend(name: str, array: Any, variable: Any, find: Finder) -> Place:
    """The place of the array that a backend of xarray reads."""
    kind = type(array).__name__
    if kind == "NetCDF4ArrayWrapper":
        inner = array.get_array(needs_lock=False)
    elif kind == "ZarrArrayWrapper":
        inner = array._array if hasattr(array, "_array") else array.get_array()
    elif kind == "ScipyArrayWrapper" and isinstance(getattr(array.datastore.ds, "filename", None), str):
        return Place("netcdf", array.datastore.ds.filename, [array.variable_name])
    elif kind.endswith("ArrayWrapper"):
        source = variable.encoding.get("source", "PATH")
        raise ValueError(
            f"infeed does not know how xarray reads {name!r} ({kind}): give its file, infeed.open({source!r}), or open it"
            " with engine='netcdf4' or engine='zarr'"
        )
    else:
        raise ValueError(f"{name!r} is not the data of a file, but made in memory ({kind}): {_CURE}")
    place = find(str(opened_kind(inner)), inner, None, {})
    if tuple(inner.shape) != tuple(variable.shape):
        raise ValueError(f"{name!r} has the shape {variable.shape}, and {inner.shape} in {place.path!r}: {_CURE}")
    return place


def _unpacked(name: str, variable: Any, place: Place, done: list[str]) -> Place:
    """The same place, with values unpacked if xarray does just that."""
    call = f"infeed.{place.format}({place.path!r}, variables=[{name!r}])"
    for function in done:
        if function not in ("_apply_mask", "_scale_offset_decoding"):
            raise ValueError(
                f"xarray decodes {name!r} ({function}), which infeed does not do: open it with decode_times=False, or"
                f" decode_cf=False, or read the numbers as they are stored: {call}"
            )
    scaled = "_scale_offset_decoding" in done
    if "_apply_mask" in done and not scaled and variable.encoding["dtype"].kind in "iu":
        raise ValueError(
            f"xarray makes floats of the integers {name!r} because some are missing, and infeed leaves them as they are"
            f" stored: open it with mask_and_scale=False, or read the file: {call}"
        )
    ranges = [attribute for attribute in _RANGES if attribute in variable.attrs]
    # What is left as an attribute was not applied.
    raw = any(attribute in variable.attrs for attribute in _PACKING)
    if raw or (ranges and not done):
        return Place(place.format, place.path, place.variables, scale=False)
    if ranges:
        raise ValueError(
            f"{name!r} has {ranges[0]}, which infeed applies and xarray does not: open it with mask_and_scale=False, or"
            f" read the file: {call}"
        )
    return Place(place.format, place.path, place.variables, scale=True if done else None)


def dask_original(data: Any, what: str = "this array") -> Any:
    """What a dask array was made of, if it is nothing but that."""
    graph = data.dask
    layers = getattr(graph, "layers", {})
    original = f"original-{data.name}"
    tasks = [task for key, task in layers.get(data.name, {}).items() if isinstance(key, tuple)]
    names = {_function(task) for task in tasks[:1]}
    if set(layers) != {data.name, original} or not all(name.startswith("getter") for name in names):
        steps = ", ".join(sorted({name.rpartition("-")[0] for name in layers} - {""})) or "none"
        raise ValueError(
            f"{what} is an array of dask with more to do than reading one file ({steps}): infeed reads files, so give"
            " their paths, infeed.zarr(path) or infeed.hdf5([...]), and do the rest with .map(...)"
        )
    found = layers[original][original]
    return getattr(found, "value", found)


def _function(task: Any) -> str:
    function = task[0] if isinstance(task, tuple) else getattr(task, "func", None)
    return str(getattr(function, "__name__", ""))
