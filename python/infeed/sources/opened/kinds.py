"""Classes of open files and arrays, known by the names of their modules."""

from __future__ import annotations

from typing import Any

_KNOWN = {
    "h5py": ("Dataset", "Group"),
    "netCDF4": ("MFDataset", "Dataset", "Variable"),
    "zarr": ("Array", "Group"),
    "xarray": ("Dataset", "DataArray", "Variable"),
    "dask": ("Array",),
}

#: Those that hold several arrays.
GROUPS = ("h5py.Group", "netCDF4.MFDataset", "netCDF4.Dataset", "zarr.Group", "xarray.Dataset")


def opened_kind(data: Any) -> str | None:
    """The library and class of an open object, or of one that its class is made of; None for all others."""
    for cls in type(data).__mro__:
        root = cls.__module__.partition(".")[0]
        if cls.__name__ in _KNOWN.get(root, ()):
            return f"{root}.{cls.__name__}"
    return None
