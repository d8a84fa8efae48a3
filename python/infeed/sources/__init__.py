"""The functions that create pipelines: from files, tables, arrays in memory, iterators, and by joining pipelines."""

from .corpora import file_list
from .formats import (
    arrow,
    avro,
    coco,
    csv,
    csv_table,
    files,
    folder,
    hdf5,
    jsonl,
    lmdb,
    manifest,
    mds,
    npy,
    npz,
    parquet,
    sqlite,
    tar,
    text,
    tfrecord,
    tokens,
    voc,
    yolo,
    zarr,
)
from .generated import Generated, generate
from .joins import blend, concat, interleave
from .memory import arrays, wrap
from .paths import open
from .streams import stream
from .tables import column_stats, table, table_info

__all__ = [
    "Generated",
    "arrays",
    "arrow",
    "avro",
    "blend",
    "coco",
    "column_stats",
    "concat",
    "csv",
    "csv_table",
    "file_list",
    "files",
    "folder",
    "generate",
    "hdf5",
    "interleave",
    "jsonl",
    "lmdb",
    "manifest",
    "mds",
    "npy",
    "npz",
    "open",
    "parquet",
    "sqlite",
    "stream",
    "table",
    "table_info",
    "tar",
    "text",
    "tfrecord",
    "tokens",
    "voc",
    "wrap",
    "yolo",
    "zarr",
]
