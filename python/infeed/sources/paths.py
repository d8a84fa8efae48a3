"""Paths as users give them, and the pipelines over them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy.typing as npt

from .. import _core
from ..pipeline import Pipeline
from ..staged import Staged
from .commands import expanded, refuse_address
from .refusals import refuse_data, refuse_item

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class _ArrowTable(Protocol):
    """Data frames and Arrow tables, as type checkers see them."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class _ArrowBatch(Protocol):
    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...


class _DataSet(Protocol):
    """Data sets that return samples by index."""

    def __getitem__(self, index: Any, /) -> Any: ...
    def __len__(self) -> int: ...


#: Data that :func:`open` takes instead of paths.
InMemory = Mapping[str, Any] | npt.NDArray[Any] | _ArrowTable | _ArrowBatch | _DataSet | Iterable[Mapping[str, Any]]


def path_list(paths: Paths) -> list[str]:
    """One path or several, as a list of text."""
    if isinstance(paths, Staged):
        return paths.paths
    if isinstance(paths, str | os.PathLike):
        return _written(os.fspath(paths))
    refuse_data(paths)
    out = []
    for path in paths:
        refuse_item(path)
        out += _written(os.fspath(path))
    return out


def _written(path: str) -> list[str]:
    refuse_address(path)
    return expanded(path)


def open_format(format: str, paths: Paths, given: Mapping[str, Any]) -> Pipeline:
    """Read files of one format. Default arguments are left out, so that equal pipelines have equal recipes."""
    defaults = _defaults(format)
    plain = {name: plain_value(value) for name, value in given.items()}
    return _open(paths, format, {name: value for name, value in plain.items() if value != defaults[name]})


_DEFAULTS: dict[str, dict[str, Any]] = {}


def _defaults(format: str) -> dict[str, Any]:
    """The defaults of a format, from the table of formats, which is read once."""
    if not _DEFAULTS:
        for entry in json.loads(_core.entries("formats")):
            _DEFAULTS[entry["name"]] = {p["name"]: p["default"] for p in entry["params"]}
    return _DEFAULTS[format]


def plain_value(value: Any) -> Any:
    """An argument as plain data for a recipe: converts paths, mappings, sequences, NumPy and torch types."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, type):  # numpy.int64
        return value.__name__
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Iterable):
        return [plain_value(item) for item in value]
    return str(value).removeprefix("torch.")  # numpy.dtype, torch.dtype


def _open(
    paths: Paths,
    format: str,
    args: dict[str, Any],
    store: Mapping[str, Any] | None = None,
    staged: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    cache_limit: int | str | None = None,
) -> Pipeline:
    source: dict[str, Any] = {"paths": path_list(paths), "format": format, "args": args}
    if staged is not None:
        source["staged"] = os.fspath(staged)
    pipeline = Pipeline({"source": source, "stage": []})
    if cache is not None:
        pipeline = pipeline.with_cache(cache, limit=cache_limit)
    elif cache_limit is not None:
        raise ValueError("cache_limit= needs cache=, the folder of the cache")
    return pipeline.with_store(**store) if store else pipeline


def open(
    paths: Paths | InMemory,
    *,
    store: Mapping[str, Any] | None = None,
    staged: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    cache_limit: int | str | None = None,
) -> Pipeline:
    """Read shards or images; the format is detected.

    ``paths`` may be one path, a list, a glob, a folder, a brace expansion (``train-{000000..000127}.tar``), several of
    them joined with ``::``, a ``file:`` URL, or ``pipe:COMMAND``, whose output is read from front to back; a range in it
    (``pipe:curl -sfL https://host/train-{000..127}.tar``) makes one command for each number.

    Data that lies elsewhere has a URL: ``s3://BUCKET/KEY``, ``gs://BUCKET/KEY``, ``az://CONTAINER/KEY``,
    ``https://HOST/PATH``, ``hf://datasets/OWNER/NAME/PATH``, with patterns where the store can list. Keys and tokens are
    taken from the environment and from profiles. ``store`` says the rest: see :meth:`Pipeline.with_store`.

    ``cache`` keeps what is read in a folder of this machine, at most ``cache_limit`` bytes: see
    :meth:`Pipeline.with_cache`.

    It may also be data in memory. The columns of a data frame (pandas, Polars), of an Arrow table, of a Hugging Face
    ``Dataset`` and of a dict of arrays become fields; columns of paths are not read (:meth:`Pipeline.load` does that).
    Data sets of torch, and those of Hugging Face that can only be iterated over, are read as :func:`infeed.wrap` does.
    :meth:`Pipeline.explain` says what was done. Open files of h5py, netCDF4, zarr and xarray are read as
    :func:`infeed.arrays` does.

    With ``staged``, files are read from the copies that :func:`infeed.stage` or ``infeed stage`` made, where those are
    complete and of the files as they are now, and from ``paths`` where not. It is a folder of copies, or ``"auto"`` for
    all that are found by themselves. Rows, order, ledgers and states are the same with and without.
    """
    if not isinstance(paths, str | os.PathLike | list | tuple):
        from .hands import from_object
        from .opened import from_opened

        opened = from_opened(paths)
        if opened is not None:
            source = opened.recipe["source"]
            return _open(source["paths"], source["format"], source["args"], store, staged, cache, cache_limit)
        made = from_object(paths)
        if made is not None:
            if store:
                raise ValueError("store= is for URLs, and this is data in memory")
            if staged is not None or cache is not None:
                name = "cache" if staged is None else "staged"
                raise ValueError(f"{name}= is for files, and this is data in memory")
            return made
    return _open(paths, "auto", {}, store, staged, cache, cache_limit)  # type: ignore[arg-type]
