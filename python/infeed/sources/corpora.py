"""Blends of token files: what language models are trained on."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import NamedTuple, Unpack

from .._typing import Sampling
from ..pipeline import Pipeline
from ..recipes import whole
from .args import TokenArgs
from .formats import tokens
from .joins import blend


class Listed(NamedTuple):
    """A line of a file list."""

    weight: float
    prefix: str
    corpus: str


def _listed(path: str | os.PathLike[str]) -> list[Listed]:
    """The lines of a file list. Blank lines and those that begin with ``#`` say nothing."""
    name = os.fspath(path)
    out = []
    for number, line in enumerate(Path(name).read_text().splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            weight = float(words[0])
        except ValueError:
            weight = math.nan
        if len(words) not in (2, 3) or not (math.isfinite(weight) and weight >= 0):
            raise ValueError(f"{name!r}, line {number}: {line!r} is not `weight prefix corpus`")
        out.append(Listed(weight, words[1], words[2] if len(words) == 3 else "default"))
    if not out:
        raise ValueError(f"{name!r} lists no file; a line has `weight prefix corpus`")
    total = sum(line.weight for line in out)
    if not 0 < total < math.inf:
        raise ValueError(f"the weights in {name!r} add up to {total}")
    return out


def file_list(
    path: str | os.PathLike[str],
    length: int,
    *,
    samples: int | None = None,
    seed: int = 1234,
    sampling: Sampling = "windows",
    **how: Unpack[TokenArgs],
) -> Pipeline:
    """Read a BlendCorpus file list, one ``weight prefix corpus`` a line, as a blend in two levels.

    The files of a corpus are blended by their weights, then corpora, in alphabetical order, by the sum of theirs.
    Other arguments are those of :func:`tokens`.

    With ``sampling="windows"`` the rows of each file are shuffled by ``seed``; an epoch has ``samples`` rows, or
    ends before a file would repeat one. With ``sampling="megatron"`` the samples are BlendCorpus's, index for
    index: each file gives ``ceil(samples * weight * 1.005)`` of them, and an epoch is all of those.
    """
    lines = _listed(path)
    # From left to right, as BlendCorpus adds them up: another order would round otherwise.
    total = 0.0
    for line in lines:
        total += line.weight
    weights = [line.weight / total for line in lines]
    corpora: dict[str, list[int]] = {}
    for i, line in enumerate(lines):
        corpora.setdefault(line.corpus, []).append(i)
    if sampling != "megatron":
        parts = []
        for line in lines:
            file = tokens(line.prefix, length, sampling=sampling, **how)
            parts.append(file.shuffle(seed=seed))
        blends = [blend([parts[i] for i in corpora[c]], [weights[i] for i in corpora[c]]) for c in sorted(corpora)]
        sums = [sum(weights[i] for i in corpora[c]) for c in sorted(corpora)]
        return blend(blends, sums, length="first" if samples is None else whole("samples", samples))
    if samples is None:
        raise ValueError('file_list needs samples with sampling="megatron": how many rows the training takes')
    counts = [math.ceil(whole("samples", samples) * weight * 1.005) for weight in weights]
    parts = [
        tokens(line.prefix, length, samples=count, seed=seed, sampling=sampling, **how)
        for line, count in zip(lines, counts, strict=True)
    ]
    blends, sizes = [], []
    for corpus in sorted(corpora):
        taken = [i for i in corpora[corpus] if counts[i]]
        if taken:
            sizes.append(sum(counts[i] for i in taken))
            blends.append(blend([parts[i] for i in taken], [counts[i] for i in taken], length=sizes[-1]))
    return blend(blends, [size / sum(sizes) for size in sizes], length=sum(sizes))
