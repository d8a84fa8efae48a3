"""The formats, one function each.

Each takes one path, a list, a glob, a folder or a brace expansion, as :func:`infeed.open` does, which finds most of
them by name or by what is in the files. Rows of files that are compressed (``.gz``, ``.zst``, ``.xz``, ``.bz2``,
``.lz4``) are read from front to back, as a stream; so are commands (``pipe:``) and standard input (``-``). All others
can be read at any place: shuffles are exact, ranks have equal shares, resuming costs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._typing import (
    Drift,
    IntegerDtype,
    IntegerName,
    LmdbKeys,
    Nulls,
    Read,
    Sampling,
    SplitPart,
    TextErrors,
    TextRows,
)
from ..pipeline import Pipeline
from ..recipes import whole
from .args import Scalar, table_args
from .paths import Paths, _open

MAX_ROW = 256 << 20
"""Bytes of the largest row, unless ``max_row`` says otherwise."""


def tar(paths: Paths, *, lenient: bool = False, index: str | os.PathLike[str] = "auto") -> Pipeline:
    """Read WebDataset tars.

    ``lenient`` steps over damaged parts instead of refusing the shard. ``index`` says where the table of members is kept
    between runs: ``"auto"`` (the user's cache folder, when making it took long), ``"off"``, ``"beside"`` the shard, or a
    folder.
    """
    return _open(paths, "tar", {"lenient": lenient, "index": os.fspath(index)})


def folder(path: str | os.PathLike[str]) -> Pipeline:
    """Read an image folder. With class sub-folders, order and labels are those of torchvision's ``ImageFolder``.

    Fields: ``image`` and, with classes, ``label``.
    """
    return _open(path, "folder", {})


def files(paths: Paths) -> Pipeline:
    """Read image files one by one, in the given order. Field: ``image``."""
    return _open(paths, "files", {})


def manifest(path: str | os.PathLike[str]) -> Pipeline:
    """Read the files that a text file lists, one ``path label`` a line. Fields: ``image`` and ``label``."""
    return _open(path, "manifest", {})


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
    by: TextRows = "line",
    errors: TextErrors = "strict",
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
    index: str | os.PathLike[str] = "auto",
    max_row: int = MAX_ROW,
) -> Pipeline:
    """Read TFRecord files. Field: ``record``, its bytes; or the features of the ``tf.train.Example`` in it.

    ``features`` names them with their types: ``{"image": "bytes", "caption": "text", "label": "int64", "box":
    "float32[4]", "ids": "int64[]"}``; ``"auto"`` takes those of the first 100 records. One number is a scalar,
    several are an array. ``check=False`` does not compare the checksums of records (those of their lengths are always
    compared). ``index="auto"`` uses a file of ``offset length`` lines beside the shard (``.index``, ``.idx``) where
    it fits.
    """
    args: dict[str, Any] = {"check": check, "index": os.fspath(index), "max_row": max_row}
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


def lmdb(paths: Paths, *, name: str | None = None, key: LmdbKeys = "auto") -> Pipeline:
    """Read LMDB: every entry is a row, in the order of the keys. Fields: ``key`` and ``value``.

    ``paths`` is the folder or the file ``data.mdb`` in it. ``name`` is that of a database inside the file. Keys are
    text when all of them are UTF-8, or as ``key="text"`` and ``"bytes"`` say. No lock is taken and nothing is
    written: a database that somebody writes to meanwhile must be copied first.
    """
    args: dict[str, Any] = {"key": key}
    if name is not None:
        args["name"] = name
    return _open(paths, "lmdb", args)


def parquet(
    paths: Paths,
    *,
    columns: Iterable[str] | None = None,
    where: str | None = None,
    nulls: Nulls = "auto",
    fill: Scalar | Mapping[str, Scalar] | None = None,
    read: Read = "mmap",
) -> Pipeline:
    """Read Parquet files. A field per column; columns inside structs are called ``a.b``.

    ``columns`` are the only ones that are read. ``where`` keeps the rows that fulfil a condition, such as ``"age >
    30 and country == 'DE'"``; row groups whose statistics rule it out are not read. A null is NaN in a column of
    floats and a missing value elsewhere, unless ``fill`` has a value for all columns that it fits, or a table of
    columns; ``nulls="error"`` makes rows with a null bad samples. ``read`` is ``"mmap"`` or ``"pread"``.

    Times are whole numbers of their unit, decimals are float64, lists of numbers are arrays, other nested columns
    are JSON. A struct of ``bytes`` and ``path``, as Hugging Face keeps images, is a field that ``decode`` takes like
    one of a tar.
    """
    return _open(paths, "parquet", table_args(columns=columns, where_=where, nulls=nulls, fill=fill, read=read))


def arrow(
    paths: Paths,
    *,
    columns: Iterable[str] | None = None,
    where: str | None = None,
    nulls: Nulls = "auto",
    fill: Scalar | Mapping[str, Scalar] | None = None,
    split: str | None = None,
    read: Read = "mmap",
) -> Pipeline:
    """Read Arrow IPC files and streams (Feather version 2), and folders of Hugging Face data sets.

    ``split`` chooses a part of a data set folder that has several. The rest is as in :func:`parquet`.
    """
    return _open(
        paths, "arrow", table_args(columns=columns, where_=where, nulls=nulls, fill=fill, split=split, read=read)
    )


def avro(
    paths: Paths,
    *,
    columns: Iterable[str] | None = None,
    where: str | None = None,
    nulls: Nulls = "auto",
    fill: Scalar | Mapping[str, Scalar] | None = None,
    read: Read = "mmap",
) -> Pipeline:
    """Read Avro object container files. Arguments as in :func:`parquet`."""
    return _open(paths, "avro", table_args(columns=columns, where_=where, nulls=nulls, fill=fill, read=read))


def sqlite(
    path: str | os.PathLike[str],
    *,
    table: str | None = None,
    query: str | None = None,
    key: str | Iterable[str] | None = None,
    page: int | None = None,
    columns: Iterable[str] | None = None,
    where: str | None = None,
    nulls: Nulls = "auto",
    fill: Scalar | Mapping[str, Scalar] | None = None,
) -> Pipeline:
    """Read a table, or the result of a query, of an SQLite database.

    Rows are read in pages of ``page`` rows in the order of ``key``: one or several columns that tell rows apart.
    Tables have such a key of their own; views, queries and tables WITHOUT ROWID need one. The rest is as in
    :func:`parquet`.
    """
    args = table_args(
        columns=columns, where_=where, nulls=nulls, fill=fill, table=table, query=query, key=key, page=page
    )
    return _open(path, "sqlite", args)


def tokens(
    paths: Paths,
    length: int,
    *,
    dtype: IntegerDtype = "int64",
    labels: bool = False,
    eod: int | None = None,
    position_ids: bool = False,
    loss_mask: bool = False,
    document_ids: bool = False,
    attention_mask: bool = False,
    reset: bool = True,
    stride: int | None = None,
    sampling: Sampling = "windows",
    samples: int | None = None,
    seed: int = 1234,
    split: str | None = None,
    part: SplitPart = "train",
    cache: str | os.PathLike[str] | None = None,
    vocab: int | None = None,
    raw: IntegerName | None = None,
    read: Read = "mmap",
    drift: Drift = "error",
) -> Pipeline:
    """Read rows of ``length`` tokens out of token files.

    ``paths`` are prefixes (``x`` of ``x.bin`` and ``x.idx``, as Megatron and BlendCorpus write them), ``.bin``
    files without an index (``raw`` says their element type, ``"uint16"`` if it is not given), ``.npy`` files,
    folders and globs. Several are laid end to end.

    ``sampling`` says how rows are cut:

    * ``"windows"``: row ``k`` is ``tokens[k * stride : k * stride + length]`` of everything laid end to end;
      ``stride`` is ``length`` if it is not given. Put ``.shuffle(seed=...)`` behind it
    * ``"megatron"``: rows are the GPT samples of Megatron and BlendCorpus, index for index: documents and samples
      are shuffled by ``seed``, in as many epochs as ``samples`` needs. As there, a row has ``length + 1`` tokens
      unless ``labels`` are asked for, and there may be more rows than ``samples``. ``cache`` is a folder with
      Megatron's cache files: those that are there are read, others are written

    Fields: ``tokens``; with ``labels=True`` also ``labels``, the tokens one place on, both of ``length``.
    ``position_ids``, ``loss_mask`` (float32, 0 where a document ends), ``document_ids`` (int32, counted from 0 in
    each row) and ``attention_mask`` (bool, ``length`` x ``length``, True where a token may look) are given when
    asked for. A document ends with the token ``eod``; without it the index says where documents end.
    ``reset=True`` lets positions begin anew with each document and keeps attention inside it.

    ``split="969, 30, 1"`` with ``part="train"``, ``"valid"`` or ``"test"`` keeps a part of the documents, as
    Megatron does. ``vocab`` makes ids that are not in the vocabulary an error; ``dtype`` may be narrower than the
    file's when all ids fit.

    ``read="mmap"`` maps the files, which must then not be cut short while they are read: the operating system
    would end the process. ``read="pread"`` is slower and gives an error instead. ``drift`` says what to do with a
    ``.bin`` that is longer than its index counts: ``"error"``, ``"repair"`` (each document has an uncounted
    end-of-document token) or ``"ignore"``.
    """
    args: dict[str, Any] = {
        "length": whole("length", length),
        "dtype": str(dtype),
        "labels": bool(labels),
        "eod": _maybe("eod", eod),
        "position_ids": bool(position_ids),
        "loss_mask": bool(loss_mask),
        "document_ids": bool(document_ids),
        "attention_mask": bool(attention_mask),
        "reset": bool(reset),
        "stride": _maybe("stride", stride),
        "sampling": sampling,
        "samples": _maybe("samples", samples),
        "seed": whole("seed", seed),
        "split": split,
        "part": part,
        "cache": None if cache is None else os.fspath(cache),
        "vocab": _maybe("vocab", vocab),
        "raw": raw,
        "read": read,
        "drift": drift,
    }
    # Only what differs from the defaults: recipes stay short, and the same pipeline is the same recipe.
    return _open(paths, "tokens", {name: value for name, value in args.items() if value != _DEFAULTS.get(name)})


def _maybe(name: str, value: int | None) -> int | None:
    return None if value is None else whole(name, value)


_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("labels", "position_ids", "loss_mask", "document_ids", "attention_mask"), False),
    "dtype": "int64",
    "reset": True,
    "sampling": "windows",
    "seed": 1234,
    "part": "train",
    "read": "mmap",
    "drift": "error",
}
