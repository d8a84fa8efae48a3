"""infeed is a fast data loader for training: it turns shards of training data into batches.

>>> import infeed
>>> from infeed import transforms as T
>>> train = (
...     infeed.open("imagenet/train-{000000..000127}.tar")
...     .shuffle(seed=17)
...     .decode(jpg="rgb", cls="int")
...     .map(T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.Normalize(mean, std), on="jpg")
...     .batch(256, drop_last=True)
... )
>>> for batch in train.to_torch():
...     batch["jpg"], batch["cls"]

A pipeline is only a description. ``explain()`` checks it against the data, ``to_numpy()`` and ``to_torch()`` run it.
"""

from . import decoders, stores, transforms
from ._core import __version__, usable_cpus
from .batch import Batch
from .doors.loader import Loader
from .errors import (
    DataChangedError,
    FormatError,
    PlanError,
    SampleError,
    StateError,
    TooManyBadSamples,
    UnreadableError,
    WorkerDied,
)
from .launch import World, world
from .pipeline import Pipeline
from .reports import Ledger, Quality, Stats, Verdict
from .sources import (
    Generated,
    arrays,
    arrow,
    avro,
    blend,
    coco,
    column_stats,
    concat,
    csv,
    csv_table,
    file_list,
    files,
    folder,
    generate,
    interleave,
    jsonl,
    lmdb,
    manifest,
    mds,
    open,
    parquet,
    sqlite,
    stream,
    table,
    table_info,
    tar,
    text,
    tfrecord,
    tokens,
    voc,
    wrap,
    yolo,
)
from .writer import ShardWriter

__all__ = [
    "Batch",
    "DataChangedError",
    "FormatError",
    "Generated",
    "Ledger",
    "Loader",
    "Pipeline",
    "PlanError",
    "Quality",
    "SampleError",
    "ShardWriter",
    "StateError",
    "Stats",
    "TooManyBadSamples",
    "UnreadableError",
    "Verdict",
    "WorkerDied",
    "World",
    "__version__",
    "arrays",
    "arrow",
    "avro",
    "blend",
    "coco",
    "column_stats",
    "concat",
    "csv",
    "csv_table",
    "decoders",
    "file_list",
    "files",
    "folder",
    "generate",
    "interleave",
    "jsonl",
    "lmdb",
    "manifest",
    "mds",
    "open",
    "parquet",
    "sqlite",
    "stores",
    "stream",
    "table",
    "table_info",
    "tar",
    "text",
    "tfrecord",
    "tokens",
    "transforms",
    "usable_cpus",
    "voc",
    "world",
    "wrap",
    "yolo",
]
