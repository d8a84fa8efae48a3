"""Formats of one record after the other: JSON lines, CSV, text, TFRecord, MDS, LMDB.

Each takes one path, a list, a glob, a folder or a brace expansion, as :func:`infeed.open` does, which finds these
formats by name too. Files that are compressed (``.gz``, ``.zst``, ``.xz``, ``.bz2``, ``.lz4``) are read from front to
back, as a stream; so are commands (``pipe:``) and standard input (``-``). All others can be read at any place:
shuffles are exact, ranks have equal shares, resuming costs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .pipeline import Pipeline
from .sources import Paths, _open

MAX_ROW = 256 << 20
"""Bytes of the largest row, unless ``max_row`` says otherwise."""


def jsonl(
    paths: Paths,
    *,
    fields: Sequence[str] | None = None,
    index: str | os.PathLike[str] = "auto",
    max_row: int = MAX_ROW,
) -> Pipeline:
    """Read JSON lines: an object on every line; blank lines are passed over.

    Fields are the keys of the first 100 rows of every file, or ``fields``, where ``"meta.lang"`` names the key ``lang``
    of the object ``meta``. Text, numbers, true and false, and lists of numbers become what they are; everything else is
    JSON. A field that is null or not there is None. A row whose field is something else than in the first rows is bad;
    whole numbers where the first rows have numbers with fractions are fine. ``index`` says where the places of rows are
    kept between runs: ``"auto"`` (the user's cache folder, when finding them took long), ``"off"``, ``"beside"`` the
    file, or a folder. A row of more than ``max_row`` bytes is an error.
    """
    args: dict[str, Any] = {"index": os.fspath(index), "max_row": max_row}
    if fields is not None:
        args["fields"] = [fields] if isinstance(fields, str) else list(fields)
    return _open(paths, "jsonl", args)


def csv(
    paths: Paths,
    *,
    delimiter: str | None = None,
    header: bool = True,
    names: Sequence[str] | None = None,
    columns: Sequence[str] | Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
    index: str | os.PathLike[str] = "auto",
    max_row: int = MAX_ROW,
) -> Pipeline:
    """Read comma-separated values (RFC 4180), or tab-separated ones.

    ``delimiter`` is found out: comma, tab, semicolon or bar. Fields are the titles in the first row, ``names``, or
    ``column_0``, ``column_1`` and so on with ``header=False``. ``columns`` picks some of them; as a dict it gives
    their types as well (``{"x": "float32", "id": "text"}``), and ``types`` gives those of some. Other types come from
    the first 1000 rows of every file: ``int64``, ``float64``, ``bool`` or text. An empty field is a NaN in a column
    of floats, an empty text in one of text, and nothing (a bad row, in a batch) in one of whole numbers.
    """
    args: dict[str, Any] = {"header": header, "index": os.fspath(index), "max_row": max_row}
    if delimiter is not None:
        args["delimiter"] = delimiter
    if names is not None:
        args["names"] = list(names)
    if columns is not None:
        args["columns"] = dict(columns) if isinstance(columns, Mapping) else list(columns)
    if types is not None:
        args["types"] = dict(types)
    return _open(paths, "csv", args)


def text(
    paths: Paths,
    *,
    by: str = "line",
    errors: str = "strict",
    index: str | os.PathLike[str] = "auto",
    max_row: int = MAX_ROW,
) -> Pipeline:
    """Read plain text. Field: ``text``.

    A row is a line (blank ones too), a paragraph (lines between blank lines) or a whole file: ``by="line"``,
    ``"paragraph"``, ``"file"``. Bytes that are no UTF-8 make a bad row, become U+FFFD or are left out:
    ``errors="strict"``, ``"replace"``, ``"ignore"``.
    """
    return _open(paths, "text", {"by": by, "errors": errors, "index": os.fspath(index), "max_row": max_row})


def tfrecord(
    paths: Paths,
    *,
    features: Mapping[str, str] | str | None = None,
    check: bool = True,
    index: str = "auto",
    max_row: int = MAX_ROW,
) -> Pipeline:
    """Read TFRecord files. Field: ``record``, its bytes; or the features of the ``tf.train.Example`` in it.

    ``features`` names them with their types: ``{"image": "bytes", "caption": "text", "label": "int64", "box":
    "float32[4]", "ids": "int64[]"}``; ``"auto"`` takes those of the first 100 records. One number is a scalar,
    several are an array. ``check=False`` does not compare the checksums of records (those of their lengths are always
    compared). ``index="auto"`` uses a file of ``offset length`` lines beside the shard (``.index``, ``.idx``) where
    it fits.
    """
    args: dict[str, Any] = {"check": check, "index": index, "max_row": max_row}
    if features is not None:
        args["features"] = features if isinstance(features, str) else dict(features)
    return _open(paths, "tfrecord", args)


def mds(path: str | os.PathLike[str], *, check: bool = False, pickle: bool = False) -> Pipeline:
    """Read an MDS data set of MosaicML's ``streaming``: a folder with ``index.json``, or that file.

    Fields are its columns. Images and lists of images come as their bytes, pickled objects only with ``pickle=True``,
    as bytes too. Shards may be compressed with zstd, gz or bz2; some are kept unpacked in memory. ``check`` compares
    the checksums that the index has (sha1, md5, xxh64, crc32).
    """
    return _open(path, "mds", {"check": check, "pickle": pickle})


def lmdb(paths: Paths, *, name: str | None = None, key: str = "auto") -> Pipeline:
    """Read LMDB: every entry is a row, in the order of the keys. Fields: ``key`` and ``value``.

    ``paths`` is the folder or the file ``data.mdb`` in it. ``name`` is that of a database inside the file. Keys are
    text when all of them are UTF-8, or as ``key="text"`` and ``"bytes"`` say. No lock is taken and nothing is
    written: a database that somebody writes to meanwhile must be copied first.
    """
    args: dict[str, Any] = {"key": key}
    if name is not None:
        args["name"] = name
    return _open(paths, "lmdb", args)
