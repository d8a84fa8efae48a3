"""Token corpora: what language models are trained on."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any, NamedTuple

from .pipeline import Pipeline
from .recipes import whole
from .sources import Paths, _open, blend


def tokens(
    paths: Paths,
    length: int,
    *,
    dtype: str = "int64",
    labels: bool = False,
    eod: int | None = None,
    position_ids: bool = False,
    loss_mask: bool = False,
    document_ids: bool = False,
    attention_mask: bool = False,
    reset: bool = True,
    stride: int | None = None,
    sampling: str = "windows",
    samples: int | None = None,
    seed: int = 1234,
    split: str | None = None,
    part: str = "train",
    cache: str | os.PathLike[str] | None = None,
    vocab: int | None = None,
    raw: str | None = None,
    read: str = "mmap",
    drift: str = "error",
) -> Pipeline:
    """Read rows of ``length`` tokens out of token files.

    ``paths`` are prefixes (``x`` of ``x.bin`` and ``x.idx``, as Megatron and BlendCorpus write them), ``.bin``
    files without an index (``raw`` says their element type, ``"uint16"`` if it is not given), ``.npy`` files,
    folders and globs. Several are laid end to end.

    ``sampling`` says how rows are cut:

    * ``"windows"``: row ``k`` is ``tokens[k * stride : k * stride + length]`` of everything laid end to end;
      ``stride`` is ``length`` if it is not given. Put ``.shuffle(seed=...)`` behind it
    * ``"megatron"``: rows are the GPT samples of Megatron and BlendCorpus, index for index: documents and samples
      are shuffled by ``seed``, in as many epochs as ``samples`` needs. As there, a row has ``length + 1`` tokens
      unless ``labels`` are asked for, and there may be more rows than ``samples``. ``cache`` is a folder with
      Megatron's cache files: those that are there are read, others are written

    Fields: ``tokens``; with ``labels=True`` also ``labels``, the tokens one place on, both of ``length``.
    ``position_ids``, ``loss_mask`` (float32, 0 where a document ends), ``document_ids`` (int32, counted from 0 in
    each row) and ``attention_mask`` (bool, ``length`` x ``length``, True where a token may look) are given when
    asked for. A document ends with the token ``eod``; without it the index says where documents end.
    ``reset=True`` lets positions begin anew with each document and keeps attention inside it.

    ``split="969, 30, 1"`` with ``part="train"``, ``"valid"`` or ``"test"`` keeps a part of the documents, as
    Megatron does. ``vocab`` makes ids that are not in the vocabulary an error; ``dtype`` may be narrower than the
    file's when all ids fit.

    ``read="mmap"`` maps the files, which must then not be cut short while they are read: the operating system
    would end the process. ``read="pread"`` is slower and gives an error instead. ``drift`` says what to do with a
    ``.bin`` that is longer than its index counts: ``"error"``, ``"repair"`` (each document has an uncounted
    end-of-document token) or ``"ignore"``.
    """
    args: dict[str, Any] = {
        "length": whole("length", length),
        "dtype": str(dtype),
        "labels": bool(labels),
        "eod": _maybe("eod", eod),
        "position_ids": bool(position_ids),
        "loss_mask": bool(loss_mask),
        "document_ids": bool(document_ids),
        "attention_mask": bool(attention_mask),
        "reset": bool(reset),
        "stride": _maybe("stride", stride),
        "sampling": sampling,
        "samples": _maybe("samples", samples),
        "seed": whole("seed", seed),
        "split": split,
        "part": part,
        "cache": None if cache is None else os.fspath(cache),
        "vocab": _maybe("vocab", vocab),
        "raw": raw,
        "read": read,
        "drift": drift,
    }
    # Only what differs from the defaults: recipes stay short, and the same pipeline is the same recipe.
    return _open(paths, "tokens", {name: value for name, value in args.items() if value != _DEFAULTS.get(name)})


def _maybe(name: str, value: int | None) -> int | None:
    return None if value is None else whole(name, value)


_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("labels", "position_ids", "loss_mask", "document_ids", "attention_mask"), False),
    "dtype": "int64",
    "reset": True,
    "sampling": "windows",
    "seed": 1234,
    "part": "train",
    "read": "mmap",
    "drift": "error",
}


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
    sampling: str = "windows",
    **how: Any,
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
