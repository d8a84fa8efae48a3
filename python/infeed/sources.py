"""Where pipelines begin: files in a format, and pipelines joined into one."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .pipeline import Pipeline
from .recipes import whole

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def _open(paths: Paths, format: str, args: dict[str, Any]) -> Pipeline:
    many = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    return Pipeline({"source": {"paths": [os.fspath(p) for p in many], "format": format, "args": args}, "stage": []})


def open(paths: Paths) -> Pipeline:
    """Read shards or images; the format is detected.

    ``paths`` may be one path, a list, a glob, a folder, a brace expansion (``train-{000000..000127}.tar``), several of
    them joined with ``::``, or a ``file:`` URL.
    """
    return _open(paths, "auto", {})


def tar(paths: Paths, *, lenient: bool = False, index: str = "auto") -> Pipeline:
    """Read WebDataset tars.

    ``lenient`` steps over damaged parts instead of refusing the shard. ``index`` says where the table of members is kept
    between runs: ``"auto"`` (the user's cache folder, when making it took long), ``"off"``, ``"beside"`` the shard, or a
    folder.
    """
    return _open(paths, "tar", {"lenient": lenient, "index": os.fspath(index)})


def folder(path: str | os.PathLike[str]) -> Pipeline:
    """Read an image folder. With class sub-folders, order and labels are those of torchvision's ``ImageFolder``.

    Fields: ``image`` and, with classes, ``label``.
    """
    return _open(path, "folder", {})


def files(paths: Paths) -> Pipeline:
    """Read image files one by one, in the given order. Field: ``image``."""
    return _open(paths, "files", {})


def manifest(path: str | os.PathLike[str]) -> Pipeline:
    """Read the files that a text file lists, one ``path label`` a line. Fields: ``image`` and ``label``."""
    return _open(path, "manifest", {})


def _join(pipelines: Iterable[Pipeline], **how: Any) -> Pipeline:
    parts = list(pipelines)
    if not parts:
        raise ValueError(f"{how['op']} needs at least one pipeline")
    for part in parts:
        if not isinstance(part, Pipeline):
            raise TypeError(f"{how['op']} takes pipelines, got {part!r}")
        if any(isinstance(item, Rows) for item in part._given.values()):
            raise ValueError(f"{how['op']} needs rows that can be addressed, and {part!r} is a stream")
    given: dict[str, Any] = {}
    recipes = []
    for part in parts:
        recipe, names = part.recipe, {}
        for name, item in part._given.items():
            # Two things of one name must be told apart; the same thing twice stays one.
            others = (f"{name} ({i})" for i in itertools.count(2))
            names[name] = next(n for n in itertools.chain([name], others) if given.get(n, item) is item)
            given[names[name]] = item
        recipes.append(_renamed(recipe, names))
    return Pipeline({"source": {"join": how, "part": recipes}, "stage": []}, given)


def _renamed(recipe: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A recipe in which things that Python hands over have other names."""
    source = recipe["source"]
    if "join" in source:
        source["part"] = [_renamed(part, names) for part in source["part"]]
    elif source.get("format") in ("python", "arrays", "rows"):
        source["paths"] = [names[name] for name in source["paths"]]
    return recipe


def concat(pipelines: Iterable[Pipeline]) -> Pipeline:
    """One pipeline after the other; ``a + b`` is the same."""
    return _join(pipelines, op="concat")


def interleave(pipelines: Iterable[Pipeline], *, run: int = 1, stop: str = "first") -> Pipeline:
    """Pipelines in turns, ``run`` rows of each.

    ``stop="first"`` ends the epoch when the first of them is used up, ``stop="all"`` goes on with the others until every
    row has come once.
    """
    if stop not in ("first", "all"):
        raise ValueError(f'stop must be "first" or "all", got {stop!r}')
    return _join(pipelines, op="interleave", run=whole("run", run), stop=stop)


def blend(
    pipelines: Iterable[Pipeline],
    weights: Sequence[float] | None = None,
    *,
    length: int | str = "first",
) -> Pipeline:
    """Mix pipelines by weight, evenly at every scale: at every place each part has its share, to within one row.

    ``length`` is a number of rows, ``"first"`` (an epoch ends before a part would repeat a row) or ``"all"`` (it ends
    when every part has been gone through, small ones several times). What a part has left over comes in the next
    epoch. The sequence is that of Megatron's and BlendCorpus's ``build_blending_indices``, index for index.
    """
    parts = list(pipelines)
    given = [1.0] * len(parts) if weights is None else [float(w) for w in weights]
    if len(given) != len(parts):
        raise ValueError(f"{len(given)} weights for {len(parts)} pipelines")
    for weight in given:
        if not math.isfinite(weight) or weight < 0:
            raise ValueError(f"weights must be finite and not negative, got {weight}")
    if isinstance(length, str) and length not in ("first", "all"):
        raise ValueError(f'length must be a number, "first" or "all", got {length!r}')
    how = length if isinstance(length, str) else {"exactly": whole("length", length)}
    return _join(parts, op="blend", weights=given, length=how)


def stream(rows: Callable[[], Iterable[Mapping[str, Any]]] | Iterable[Mapping[str, Any]]) -> Pipeline:
    """Read rows from Python, one after the other: dicts of bytes, text, numbers and arrays.

    ``rows`` is a function that makes an iterator (a generator function), or something that can be iterated over again and
    again, such as a list. It is gone through once per epoch and must give the same rows each time. Rows cannot be
    addressed: shuffling goes through a buffer, every rank goes through all rows and keeps its share, and resuming steps
    over what was given before.
    """
    name = getattr(rows, "__qualname__", type(rows).__qualname__)
    return Pipeline({"source": {"paths": [name], "format": "python"}, "stage": []}, {name: Rows(rows)})


class Rows:
    """Makes an iterator for every epoch, with each row taken apart for the engine."""

    def __init__(self, rows: Any) -> None:
        if not callable(rows) and not hasattr(rows, "__iter__"):
            raise TypeError(f"stream takes a function that makes an iterator, or an iterable, got {rows!r}")
        self.rows = rows
        self.used = False

    @property
    def given(self) -> Rows:
        """What the engine is handed: the function that makes iterators."""
        return self

    def __call__(self) -> Iterator[list[tuple[str, str, tuple[int, ...], Any]]]:
        """The rows of one epoch."""
        made = self.rows() if callable(self.rows) else self.rows
        if made is iter(made) and made is self.rows:
            if self.used:
                raise ValueError("a generator can be gone through only once: give the function that makes it")
            self.used = True
        return (_parts(row) for row in made)


def _parts(row: Mapping[str, Any]) -> list[tuple[str, str, tuple[int, ...], Any]]:
    if not isinstance(row, Mapping):
        raise TypeError(f"a stream gives dicts, got {type(row).__name__}")
    out: list[tuple[str, str, tuple[int, ...], Any]] = []
    for name, value in row.items():
        if isinstance(value, bytes | bytearray | memoryview):
            out.append((name, "bytes", (), bytes(value)))
        elif isinstance(value, str):
            out.append((name, "text", (), value))
        else:
            array = np.ascontiguousarray(value)
            if array.dtype.name not in _KINDS:
                raise TypeError(f"the field {name!r} of a stream is {type(value).__name__} ({array.dtype})")
            out.append((name, _KINDS[array.dtype.name], np.shape(value), array.tobytes()))
    return out


_KINDS = {"bool": "bool", "float16": "f16", "float32": "f32", "float64": "f64"}
_KINDS |= {f"{sign}int{bits}": f"{'u' if sign else 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
