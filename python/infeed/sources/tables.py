"""Tables of any format as one matrix of numbers, and information about tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from .. import _core
from .._typing import DtypeName, Nulls, TableFormat
from ..pipeline import Pipeline
from .args import TableFormatArgs, TableReadArgs, table_args
from .paths import Paths, _open, path_list
from .table_ops import Op, Settle, category_lists, stats


def _kind(paths: list[str], format: str) -> str:
    """The name of a table format in recipes: there, ``csv`` is the format that is read row by row."""
    kind = _core.table_kind(paths) if format == "auto" else format
    return "csv_table" if kind == "csv" else kind


def table_info(
    paths: Paths,
    *,
    format: TableFormat = "auto",
    columns: Iterable[str] | None = None,
    **args: Unpack[TableReadArgs],
) -> dict[str, Any]:
    """Rows, blocks and fields of a table, without reading its rows."""
    many = path_list(paths)
    return _info(many, _kind(many, format), table_args(columns=columns, **args))


def _info(paths: list[str], kind: str, args: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_core.table_info(kind, paths, json.dumps(args)))
    return found


def column_stats(
    paths: Paths,
    columns: Iterable[str] | None = None,
    *,
    categories: Iterable[str] = (),
    format: TableFormat = "auto",
    **args: Unpack[TableReadArgs],
) -> dict[str, dict[str, Any]]:
    """Read columns once, on all CPUs, for their ``count``, ``nulls``, ``mean``, ``std``, ``min`` and ``max``.

    NaN counts as null, and ``std`` is that of the population, not of a sample. The default for ``columns`` is all numeric
    columns. Columns of ``categories`` have their sorted distinct ``values`` instead. Other arguments are those of
    the format.
    """
    named = list(categories)
    if columns is None:
        info = table_info(paths, format=format, **args)
        columns = [f["name"] for f in info["fields"] if f["number"] and f["name"] not in named]
    many = path_list(paths)
    return stats(many, _kind(many, format), table_args(**args), list(columns), named, {})


def table(
    paths: Paths,
    *,
    features: Sequence[str] | None = None,
    label: str | Sequence[str] | None = None,
    dtype: DtypeName = "float32",
    label_dtype: DtypeName | None = None,
    fill: float | str | Mapping[str, float | str] | None = None,
    transforms: Mapping[str, Op | Sequence[Op]] | Sequence[Op] | str | None = None,
    categories: Mapping[str, Sequence[str] | Sequence[int] | str] | Sequence[str] | None = None,
    unknown: int | str = -1,
    where: str | None = None,
    nulls: Nulls = "auto",
    name: str = "features",
    format: TableFormat = "auto",
    **args: Unpack[TableFormatArgs],
) -> Pipeline:
    """Read numeric columns as one matrix, ready for a model: a field ``features`` of shape ``[columns]``, and labels.

    ``features`` are the columns of the matrix, in that order; the default is all numeric columns that are not
    labels. Labels keep their type unless ``label_dtype`` is given. ``fill`` replaces nulls and NaN: a number,
    ``"mean"``, ``"min"`` or ``"max"`` of the column, or a dict by column; without it nulls are NaN.

    ``transforms`` are applied column by column when a block is decoded: ``"log"``, ``"log1p"``, ``"standardize"``,
    ``"minmax"``, ``{"op": "clip", "min": 0, "max": 1}``, a list of them for all columns, or a dict by column
    (``"*"`` for the others). Parameters that are not given, such as the mean, are computed once over all rows.
    ``categories`` turns text or integers into their indices in a list; names alone, or ``"auto"``, use the
    sorted distinct values. Values that are not in the list become ``unknown``, or are errors with
    ``unknown="error"``.

    Files are Parquet, Arrow, Avro, SQLite or CSV, recognised by their first bytes or their name. Further arguments are
    those of the format; for CSV ``delimiter``, ``header``, ``names`` and ``types`` as in :func:`csv`.

    All computed parameters are stored in the recipe, so that runs and checkpoints stay exact when data is added.
    """
    many = path_list(paths)
    kind = _kind(many, format)
    labels = [] if label is None else [label] if isinstance(label, str) else list(label)
    base = table_args(where_=where, **args)
    lists = category_lists(categories)
    if features is None:
        info = _info(many, kind, base)
        numbers = [f["name"] for f in info["fields"] if f["number"] or f["name"] in lists]
        features = [n for n in numbers if n not in labels]
        if not features:
            raise ValueError("no column of numbers is left for the features: name them, or give categories")
    for column in lists:
        if column not in features and column not in labels:
            raise ValueError(f"categories: {column!r} is neither a feature nor a label")
    wanted = [n for n, values in lists.items() if values is None]
    found = stats(many, kind, base, [], wanted, {}) if wanted else {}
    for column in wanted:
        lists[column] = found[column]["values"]
    settle = Settle(many, kind, base, unknown)
    ops = settle.all(list(features), fill, transforms, lists)
    matrix: dict[str, Any] = {name: {"columns": list(features), "dtype": dtype}}
    if ops:
        matrix[name]["ops"] = ops
    plain = []
    for column in labels:
        if column in lists:
            step = {"op": "categories", "values": lists[column], "unknown": unknown}
            matrix[column] = {
                "columns": [column],
                "dtype": label_dtype or "int64",
                "scalar": True,
                "ops": {column: [step]},
            }
        elif label_dtype is not None:
            matrix[column] = {"columns": [column], "dtype": label_dtype, "scalar": True}
        else:
            plain.append(column)
    return _open(many, kind, {**base, **table_args(nulls=nulls), "columns": plain, "matrix": matrix})
