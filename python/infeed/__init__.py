"""infeed keeps accelerators fed: it turns shards of training data into batches, fast.

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

A pipeline only describes. ``explain()`` checks it against the data, ``to_numpy()`` and ``to_torch()`` run it.
"""

from . import transforms
from ._core import __version__, usable_cpus
from .batch import Batch
from .corpora import file_list, tokens
from .errors import FormatError, PlanError, SampleError, StateError, TooManyBadSamples, WorkerDied
from .generate import Generated, generate
from .loader import Ledger, Loader, Stats
from .memory import arrays, wrap
from .pipeline import Pipeline
from .records import csv, jsonl, lmdb, mds, text, tfrecord
from .reports import Quality, Verdict
from .sources import blend, concat, files, folder, interleave, manifest, open, stream, tar
from .tables import arrow, avro, column_stats, parquet, sqlite, table, table_info
from .world import World, world
from .writer import ShardWriter

__all__ = [
    "Batch",
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
    "Verdict",
    "WorkerDied",
    "World",
    "__version__",
    "arrays",
    "arrow",
    "avro",
    "blend",
    "column_stats",
    "concat",
    "csv",
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
    "stream",
    "table",
    "table_info",
    "tar",
    "text",
    "tfrecord",
    "tokens",
    "transforms",
    "usable_cpus",
    "world",
    "wrap",
]
