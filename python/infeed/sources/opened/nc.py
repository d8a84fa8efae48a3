"""Objects of netCDF4."""

from __future__ import annotations

from typing import Any

from .place import Place, chosen, gone, held, writing


def netcdf4_place(data: Any, kind: str, wanted: list[str] | None, axis: int) -> Place:
    """The file of a data set, group or variable."""
    if kind == "netCDF4.MFDataset":
        raise TypeError(
            "an MFDataset joins files in Python: give their paths to infeed.hdf5 (or infeed.netcdf), a list"
        )
    group = data.group() if kind == "netCDF4.Variable" else data
    format, path = _file(group)
    inside = group.path.strip("/")

    def named(name: str) -> str:
        return f"{inside}/{name.strip('/')}".lstrip("/")

    if kind == "netCDF4.Variable":
        return Place(format, path, [named(data.name)], _scaled({data.name: data}))
    variables = group.variables
    if wanted is None and not inside:
        return Place(format, path, None, _scaled(variables))
    if wanted is None:
        taken = chosen({name: each.shape for name, each in variables.items()}, axis, f"the group {group.path!r}")
    else:
        taken = wanted
    own = {name: variables[name] for name in taken if name in variables}
    return Place(format, path, [named(name) for name in taken], _scaled(own))


def _file(group: Any) -> tuple[str, str]:
    root = group
    while root.parent is not None:
        root = root.parent
    if not root.isopen():
        raise ValueError("this data set of netCDF4 is closed: open it again, or give its path to infeed.open")
    path = root.filepath()
    if root.disk_format not in ("HDF5", "NETCDF3"):
        raise ValueError(
            f"{path!r} is no file of netCDF ({root.disk_format}), and infeed reads files and stores alone"
        )
    format = "hdf5" if root.disk_format == "HDF5" else "netcdf"
    how = held(path)
    if how == "w":
        raise writing("this file of netCDF4", path, "mode='r'")
    if how is None:
        raise gone("this data set of netCDF4", path, f"infeed.{format}({path!r})")
    return format, path


def _scaled(variables: dict[str, Any]) -> bool:
    """Whether values are unpacked, as all of the variables say."""
    flags = {name: (bool(each.scale), bool(each.mask)) for name, each in variables.items()}
    if len(set(flags.values())) > 1 or any(scale != mask for scale, mask in flags.values()):
        raise ValueError(
            "variables differ in what set_auto_scale and set_auto_mask say: call set_auto_maskandscale for all of them,"
            " or give mask_and_scale= with the path of the file"
        )
    return all(scale for scale, _ in flags.values())
