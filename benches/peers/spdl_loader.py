"""SPDL: FFmpeg demuxer, decoder and filter graph in threads, without the interpreter lock."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import spdl.io
import torch
from spdl.pipeline import PipelineBuilder

import data
from works import AREA, ASPECT, CROP, MEAN, RESIZE, STD, Batch, Epochs, Task

#: Passes that make one epoch of undecoded reading.
RAW_PASSES = 8


def random_box(width: int, height: int) -> tuple[int, int, int, int]:
    """(width, height, left, top) of a RandomResizedCrop; the whole short side when ten tries do not fit."""
    for _ in range(10):
        area = width * height * random.uniform(*AREA)
        ratio = math.exp(random.uniform(math.log(ASPECT[0]), math.log(ASPECT[1])))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return w, h, random.randint(0, width - w), random.randint(0, height - h)
    side = min(width, height)
    return side, side, (width - side) // 2, (height - side) // 2


def graph(task: Task, width: int, height: int) -> str:
    """The filter graph for one image."""
    if task.work == "small":
        return "format=pix_fmts=rgb24"
    if task.random:
        w, h, left, top = random_box(width, height)
        flip = "hflip," if random.random() < 0.5 else ""
        steps = f"crop={w}:{h}:{left}:{top}:exact=1,scale={CROP}:{CROP}:flags=bilinear,{flip}"
    else:
        scale = RESIZE / min(width, height)
        steps = f"scale={round(width * scale)}:{round(height * scale)}:flags=bilinear,crop={CROP}:{CROP},"
    return steps + "format=pix_fmts=rgb24"


def epochs(task: Task) -> Epochs:
    """Decode in threads; convert a list of frames into one batch in one call."""
    torch.set_num_threads(1)
    mean, std = (torch.tensor(v).mul(255).view(1, 3, 1, 1) for v in (MEAN, STD))
    rows = data.files(task.data, task.source) * (RAW_PASSES if task.encoded else 1)

    def read(sample: tuple[str, int]) -> tuple[Any, int]:
        path, label = sample
        if task.encoded:
            return Path(path).read_bytes(), label
        packets = spdl.io.demux_image(path)
        return spdl.io.decode_packets(packets, filter_desc=graph(task, packets.width, packets.height)), label

    def stack(samples: list[tuple[Any, int]]) -> Batch:
        frames, labels = zip(*samples, strict=True)
        if task.encoded:
            return list(frames), torch.tensor(labels)
        images = spdl.io.to_torch(spdl.io.convert_frames(list(frames)))
        if task.normalised:
            images = images.permute(0, 3, 1, 2).to(torch.float32, memory_format=torch.contiguous_format)
            images = images.sub_(mean).div_(std)
        return images, torch.tensor(labels)

    def epoch() -> Iterator[Batch]:
        random.shuffle(rows)
        pipeline = (
            PipelineBuilder()
            .add_source(list(rows))
            .pipe(read, concurrency=task.threads)
            .aggregate(task.batch, drop_last=True)
            .pipe(stack)
            .add_sink(3)
            .build(num_threads=task.threads)
        )
        with pipeline.auto_stop():
            yield from pipeline

    return epoch
