"""Joins of pipelines: concatenated, interleaved, blended by weight, or side by side."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._typing import Stop, one_of
from ..pipeline import Pipeline
from ..recipes import whole
from .memory import Wrapped
from .streams import Rows


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
            # Different objects of the same name get different names; the same object keeps one.
            others = (f"{name} ({i})" for i in itertools.count(2))
            names[name] = next(n for n in itertools.chain([name], others) if given.get(n, item) is item)
            given[names[name]] = item
        recipes.append(_renamed(recipe, names))
    return Pipeline({"source": {"join": how, "part": recipes}, "stage": []}, given)


def _renamed(recipe: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A recipe in which the Python objects have other names."""
    source = recipe["source"]
    if "join" in source:
        source["part"] = [_renamed(part, names) for part in source["part"]]
    elif source.get("format") in ("python", "arrays", "rows"):
        source["paths"] = [names[name] for name in source["paths"]]
    return recipe


def concat(pipelines: Iterable[Pipeline]) -> Pipeline:
    """One pipeline after the other; ``a + b`` is the same."""
    return _join(pipelines, op="concat")


def interleave(pipelines: Iterable[Pipeline], *, run: int = 1, stop: Stop = "first") -> Pipeline:
    """Alternate between pipelines, ``run`` rows of each at a time.

    ``stop="first"`` ends the epoch when the first of them is exhausted, ``stop="all"`` continues with the others until
    every row has come once.
    """
    one_of("stop", stop, Stop)
    return _join(pipelines, op="interleave", run=whole("run", run), stop=stop)


def blend(
    pipelines: Iterable[Pipeline],
    weights: Sequence[float] | None = None,
    *,
    length: int | Stop = "first",
) -> Pipeline:
    """Mix pipelines by weight, evenly: at every place of the epoch each part has had its share, to within one row.

    ``length`` is a number of rows, ``"first"`` (an epoch ends before a part would repeat a row) or ``"all"`` (it ends
    when every part has been read completely, small ones several times). The remaining rows of a part come in the next
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


def zip(
    pipelines: Iterable[Pipeline],
    *,
    on: str | None = None,
    names: Sequence[str] | None = None,
) -> Pipeline:
    """Put the fields of several sources side by side: inputs and targets that lie in different files or stores.

    Rows belong together by their numbers, and all sources must have as many. With ``on``, they belong together where they
    have the same value of a variable (``on="time"``): rows that only some of the sources have are left out, and the order
    is that of the first. Values are compared exactly; a value that a source has twice, and sources that count it in
    different ``units``, are refused. Rows that are windows belong together where all of their steps do. The variable need
    not be among those that are read. :meth:`Pipeline.explain` tells how many rows are left out.

    Fields of the same name need ``names``, one for each source: ``names=["era5", "radar"]`` gives ``era5.tp`` and
    ``radar.tp``. The sources have no stages of their own: zip first, then shuffle, map and batch.
    """
    parts = list(pipelines)
    for number, part in enumerate(parts):
        if not isinstance(part, Pipeline):
            raise TypeError(f"zip takes pipelines, got {part!r}")
        if part.recipe["stage"] or "join" in part.recipe["source"]:
            raise ValueError(
                f"part {number} of zip has stages, or is joined ({part!r}): zip the sources first, and do the rest with"
                " what it gives"
            )
        if any(isinstance(item, Wrapped) for item in part._given.values()):
            raise ValueError(
                f"part {number} of zip makes samples in Python ({part!r}): give arrays, or one data set that has both"
            )
    how: dict[str, Any] = {"op": "zip"}
    if on is not None:
        how["on"] = on
    if names is not None:
        how["names"] = [names] if isinstance(names, str) else list(names)
        if len(how["names"]) != len(parts) or len(set(how["names"])) != len(parts):
            raise ValueError(
                f"names must have a different name for each of {len(parts)} pipelines, got {how['names']}"
            )
    return _join(parts, **how)
