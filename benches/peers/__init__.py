"""The peers: their environments, what they can do, and how their work differs from ours.

A peer is a module of this package with two functions, both given a `works.Task`:

    prepare(task)   write the data in the format this loader reads best, once; never timed
    epochs(task)    set up, and return a function that gives the batches of one epoch as (images, labels)

Each is run by `worker.py` in a process of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

ALL = ("train", "train_u8", "eval", "raw", "small")


@dataclass(frozen=True)
class Peer:
    """One column of the table."""

    name: str
    module: str
    #: Environment it runs in; None: the interpreter that runs the benchmark.
    env: str | None
    #: Distribution whose version is reported.
    package: str
    works: tuple[str, ...] = ALL
    decoder: str = "pil"
    #: How what it does differs from the work as described; printed below the table.
    note: str = ""


INFEED = Peer("infeed", "infeed_runner", None, "infeed")

PEERS: dict[str, Peer] = {
    p.name: p
    for p in (
        Peer("torch", "torch_loader", "torch", "torch", note="torch DataLoader, class folders, PIL"),
        Peer(
            "torch-io",
            "torch_loader",
            "torch",
            "torch",
            ("train", "train_u8", "eval", "small"),
            "io",
            "torch DataLoader, class folders, torchvision.io",
        ),
        Peer(
            "torch-cv2",
            "torch_loader",
            "torch",
            "torch",
            ("small",),
            "cv2",
            "torch DataLoader, class folders, OpenCV",
        ),
        Peer("webdataset", "webdataset_loader", "torch", "webdataset", note="tar shards, PIL"),
        Peer("hf", "hf_datasets", "torch", "datasets", note="Parquet, map-style, torch DataLoader, PIL"),
        Peer("litdata", "litdata_loader", "torch", "litdata", note="its own chunks, PIL"),
        Peer("streaming", "mosaic_streaming", "streaming", "mosaicml-streaming", note="MDS shards, PIL"),
        Peer("grain", "grain_loader", "torch", "grain", note="files, threads, PIL"),
        Peer(
            "datago",
            "datago_loader",
            "torch",
            "datago",
            ("train", "train_u8"),
            note="files; centre crop and resize only: it has no random crop and no flip",
        ),
        Peer(
            "spdl",
            "spdl_loader",
            "spdl",
            "spdl",
            note="files, FFmpeg decoder and filters; swscale's bilinear",
        ),
        Peer(
            "tfdata",
            "tf_data",
            "tensorflow",
            "tensorflow-cpu",
            note="TFRecord, fused decode-and-crop; its resize is not antialiased",
        ),
        Peer(
            "dali",
            "dali_loader",
            "dali",
            "nvidia-dali-cuda120",
            note="files, CPU operators, fused decode-and-crop",
        ),
        Peer(
            "ffcv",
            "ffcv_loader",
            "ffcv",
            "ffcv",
            ("train", "train_u8", "eval", "raw"),
            note="beton; re-encodes the JPEGs when writing (quality 95); area resize, no PNG",
        ),
    )
}
