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

import importlib as _importlib
from typing import Any as _Any

#: What the package offers, by the module that has it. Modules are imported on first use: the ``infeed`` command needs
#: none of them, and they import NumPy.
_OFFERS = {
    "._core": (
        "__version__",
        "usable_cpus",
    ),
    ".batch": (
        "Batch",
        "Sample",
    ),
    ".doors.loader": ("Loader",),
    ".errors": (
        "DataChangedError",
        "FormatError",
        "PlanError",
        "SampleError",
        "StateError",
        "TooManyBadSamples",
        "UnreadableError",
        "WorkerDied",
    ),
    ".field_stats": ("stats",),
    ".launch": (
        "World",
        "world",
    ),
    ".pipeline": ("Pipeline",),
    ".reports": (
        "Field",
        "Fields",
        "Ledger",
        "Quality",
        "Stats",
        "Verdict",
    ),
    ".sources": (
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
        "memmap",
        "netcdf",
        "npy",
        "npz",
        "open",
        "parquet",
        "pt",
        "root",
        "safetensors",
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
        "zip",
    ),
    ".staged": (
        "Staged",
        "stage",
    ),
    ".writer": ("ShardWriter",),
}
_MODULES = ("decoders", "show", "stores", "transforms")
#: Modules that are not part of the interface, and can be reached without importing them.
_INNER = (
    "batch",
    "doors",
    "errors",
    "field_stats",
    "functions",
    "launch",
    "pipeline",
    "recipes",
    "reports",
    "sources",
    "staged",
    "writer",
)
_PLACES = {name: module for module, names in _OFFERS.items() for name in names}

__all__ = sorted([*_PLACES, *_MODULES])


def __getattr__(name: str) -> _Any:
    if name in _PLACES:
        found = getattr(_importlib.import_module(_PLACES[name], __name__), name)
    elif name in _MODULES or name in _INNER:
        found = _importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, *_INNER, *(name for name in globals() if name.startswith("__"))])
