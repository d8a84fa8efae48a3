"""The allowed string values of arguments, as ``Literal`` types: for type checkers and for the checks at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

if TYPE_CHECKING:
    import torch

# Loaders.
OnError = Literal["raise", "skip", "replace"]
Priority = Literal["low", "normal"]
Decode = Literal["cpu", "gpu", "hybrid"]
Workers = Literal["threads", "processes", "consumer"]
OnDeadWorker = Literal["raise", "replace"]
StartMethod = Literal["fork", "forkserver", "spawn"]
Layout = Literal["CHW", "HWC", "channels_last"]
BatchLayout = Literal["nchw", "nhwc"]
Framework = Literal["torch", "jax"]

# Order and batches.
ShuffleKind = Literal["auto", "global", "block", "sliding", "buffer", "none"]
BalanceMode = Literal["over", "under"]
LastBatch = Literal["short", "drop", "pad"]
Ragged = Literal["list", "pad", "flat"]
Stop = Literal["first", "all"]

# Sequences of tokens.
PackMode = Literal["concat", "first_fit", "best_fit"]
LongDocuments = Literal["split", "truncate", "drop"]
Rest = Literal["drop", "pad"]

# Files.
Share = Literal["node", "job"]
Read = Literal["mmap", "pread"]
Lists = Literal["auto", "vary"]
Nulls = Literal["auto", "error"]
ArrayRows = Literal["axis", "file"]
Hdf5Rows = Literal["axis", "file", "group"]
PatchEdge = Literal["drop", "shift", "pad"]
MemoryOrder = Literal["C", "F"]
TableFormat = Literal["auto", "parquet", "arrow", "avro", "sqlite", "csv"]
TextRows = Literal["line", "paragraph", "file"]
TextErrors = Literal["strict", "replace", "ignore"]
LmdbKeys = Literal["auto", "text", "bytes"]
Sampling = Literal["windows", "megatron"]
CacheTier = Literal["memory", "disk"]
SplitPart = Literal["train", "valid", "test"]
Drift = Literal["error", "repair", "ignore"]
CocoLabels = Literal["category", "contiguous"]
YoloTask = Literal["detect", "segment", "pose"]
MissingImages = Literal["error", "skip"]
OutsideBoxes = Literal["error", "clip", "keep"]

# Fields.
Decoder = Literal[
    "rgb",
    "gray",
    "stored",
    "mask",
    "boxes",
    "keypoints",
    "int",
    "float",
    "text",
    "json",
    "npy",
    "instance_masks",
    "bytes",
]
IntegerName = Literal[
    "u8",
    "i8",
    "u16",
    "i16",
    "u32",
    "i32",
    "u64",
    "i64",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "uint32",
    "int32",
    "uint64",
    "int64",
]
FloatName = Literal["f16", "bf16", "f32", "f64", "float16", "bfloat16", "float32", "float64"]
DtypeName = Literal["bool", IntegerName, FloatName]
IntegerDtype: TypeAlias = "IntegerName | np.dtype[Any] | torch.dtype"

# Transforms.
Interpolation = Literal["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]
WarpInterpolation = Literal["nearest", "bilinear"]
PaddingMode = Literal["constant", "edge", "reflect", "symmetric"]
Side = Literal["left", "right"]


def one_of(what: str, value: object, words: Any) -> None:
    """Raise if a value is not one of the words of a ``Literal``."""
    known = get_args(words)
    if value not in known:
        *first, last = (f'"{word}"' for word in known)
        raise ValueError(f"{what} must be {', '.join(first)} or {last}, got {value!r}")
