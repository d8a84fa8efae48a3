"""Calls as users write them, for test_typing.py: mypy must refuse the lines marked so, and no others. Never run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tokenizers
import torch

import infeed
from infeed import decoders as D
from infeed import transforms as T
from infeed.loader import LoaderOptions
from infeed.torch import DeviceLoader

data = infeed.open("train-{000000..000127}.tar")


class FastTokenizer:
    """What infeed needs of the fast tokenizers of transformers, whose own types take half a minute to read."""

    @property
    def backend_tokenizer(self) -> tokenizers.Tokenizer:
        return tokenizers.Tokenizer.from_file("tokenizer.json")


# Doors.
data.to_numpy(threads=2, memory="2GB", on_error="skip")
data.to_numpy(thread=2)  # refused
data.to_numpy(threads="2")  # refused
data.to_numpy(on_error="skp")  # refused
data.to_numpy(workers="processes", multiprocessing_context="spawn", on_dead_worker="replace")
data.to_numpy(workers="process")  # refused
kept: LoaderOptions = {"threads": 2, "on_error": "skip"}
data.to_numpy(**kept)
data.to_torch(threads=2)
data.to_torch(**kept)
data.to_torch(pin=False)  # refused
data.to_torch(layout="nhwc")
data.to_torch(layout="NHWC")  # refused
data.to_torch(device="cuda", pin=False, channels_last=True, dtype=torch.bfloat16)
data.to_torch(device="cuda", pinned=False)  # refused
data.to_torch(device="cuda", layout="nhwc")
on_device: DeviceLoader = data.to_torch(device=0)
data.to_jax(ahead=3, epoch=2)
data.to_jax(aheed=3)  # refused
data.to_tf(state=None, rank=0, world_size=2)
data.to_tf(stat=None)  # refused
data.to_arrow(meta=True, prefetch=4)
data.to_arrow(metas=True)  # refused

# Stages. They give pipelines.
made: infeed.Pipeline = data.shuffle(seed=7, kind="global").decode(jpg="rgb", cls="int").batch(8, ragged="pad")
data.shuffle(kind="globally")  # refused
data.shuffle(1000)  # refused
loaded: infeed.Pipeline = data.load("path", root=Path("images"), to="image", pattern="{}.jpg")
data.load("path", "images")  # refused
data.load("path", root=3)  # refused
data.decode(jpg="rbg")  # refused
data.decode("auto", exact=True, cls="text")
data.decode("rgb")  # refused
data.decode(x=D.npy(shape=(3, 4), dtype="float32"), jpg=D.rgb(max_pixels=10**8))
D.npy(size=3)  # refused
data.batch(8, last="dropped")  # refused
data.batch(8, ragged={"tokens": "pad", "boxes": "flat"}, pad_value={"tokens": 3}, pad_mask={"tokens": "mask"})
data.batch(8, ragged={"tokens": "padded"})  # refused
data.batch(8, ragged="pad", pad_mask=3)  # refused
data.pack(128, mode="best_fit", dtype="int32").batch(4)
data.pack(128, mode="bestfit")  # refused
data.tokenize("tokenizer.json", max_length=128, truncation="left")
data.tokenize("tokenizer.json", max_len=128)  # refused
T.Tokenize("tokenizer.json", max_length=128)
T.Tokenize(Path("tokenizer.json"))
T.Tokenize(tokenizers.Tokenizer.from_file("tokenizer.json"))
T.Tokenize(FastTokenizer())
T.Tokenize(3)  # refused
T.Tokenize(tokenizers.Tokenizer)  # refused
T.Tokenize("tokenizer.json", max_len=128)  # refused
data.mask_tokens(mask=3, vocab=1000)
data.mask_tokens(mask="<mask>", special=["<s>", 2])
data.mask_tokens(vocab=1000)  # refused

# Sources.
infeed.open(np.zeros((3, 2)))
infeed.open({"x": np.zeros(3)})
infeed.open(torch.utils.data.TensorDataset(torch.zeros(3)))
infeed.open(Path("a.tar"))
infeed.open(3)  # refused
infeed.interleave([data, data], stop="all")
infeed.interleave([data, data], stop="last")  # refused
infeed.blend([data, data], [1, 2], length=100)
infeed.blend([data, data], [1, 2], length="shortest")  # refused
infeed.parquet("x.parquet", nulls="error", read="pread")
infeed.parquet("x.parquet", read="direct")  # refused
infeed.folder("speech", endings=[".wav", ".flac"], field="audio", split="train")
infeed.folder("speech", ending=".wav")  # refused
infeed.files("*.wav", field="audio")
infeed.tokens("x", 128, sampling="megatron", dtype="int32")
infeed.tokens("x", 128, sampling="gpt")  # refused
infeed.table("x.parquet", dtype="float16", page=100)
infeed.table("x.parquet", dtype="floats")  # refused
infeed.table("x.parquet", pages=100)  # refused
infeed.file_list("blend.txt", 128, labels=True)
infeed.file_list("blend.txt", 128, label=True)  # refused

# Transforms.
T.RandomResizedCrop(224, interpolation="bicubic")
T.RandomResizedCrop(224, interpolation="cubic")  # refused
T.RandomResizedCrop(224, scales=(0.1, 1.0))  # refused
