"""Blends of token files for training language models."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Unpack

from .. import _core
from .._typing import Sampling
from ..pipeline import Pipeline
from ..recipes import whole
from .args import TokenArgs
from .formats import tokens
from .joins import blend


def file_list(
    path: str | os.PathLike[str],
    length: int,
    *,
    samples: int | None = None,
    seed: int = 1234,
    sampling: Sampling = "windows",
    **how: Unpack[TokenArgs],
) -> Pipeline:
    """Read a BlendCorpus file list, one ``weight prefix corpus`` per line, as a blend in two levels.

    The files of a corpus are blended by their weights, then corpora, in alphabetical order, by the sum of theirs.
    Other arguments are those of :func:`tokens`.

    With ``sampling="windows"`` the rows of each file are shuffled by ``seed``; an epoch has ``samples`` rows, or
    ends before a file would repeat one. With ``sampling="megatron"`` the samples are BlendCorpus's, index for
    index: each file gives ``ceil(samples * weight * 1.005)`` of them, and an epoch is all of those.
    """
    megatron = sampling == "megatron"
    if megatron and samples is None:
        raise ValueError('file_list needs samples with sampling="megatron": how many rows the training takes')
    count = None if samples is None else whole("samples", samples)
    name = os.fspath(path)
    corpora = json.loads(_core.token_list(Path(name).read_text(), name, count if megatron else None))
    blends: list[Pipeline] = []
    if not megatron:
        for corpus in corpora:
            files = corpus["files"]
            parts = [tokens(file["prefix"], length, sampling=sampling, **how).shuffle(seed=seed) for file in files]
            blends.append(blend(parts, [file["weight"] for file in files]))
        return blend(blends, [corpus["weight"] for corpus in corpora], length="first" if count is None else count)
    sizes = []
    for corpus in corpora:
        counts = [file["samples"] for file in corpus["files"]]
        parts = [
            tokens(file["prefix"], length, samples=file["samples"], seed=seed, sampling=sampling, **how)
            for file in corpus["files"]
        ]
        sizes.append(sum(counts))
        blends.append(blend(parts, counts, length=sizes[-1]))
    return blend(blends, [size / sum(sizes) for size in sizes], length=sum(sizes))
