"""Statistics of fields: mean, deviation, range and percentiles."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TextIO

from . import _core

if TYPE_CHECKING:
    from .pipeline import Pipeline


def stats(
    pipeline: Pipeline,
    *,
    fields: str | Iterable[str] | None = None,
    axis: int | None = None,
    sample: int | None = None,
    out: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    skip_errors: bool = False,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Count, mean, standard deviation, range, NaN and percentiles of arrays, over all rows of a pipeline.

    ``fields`` are those to look at; without it, all arrays. ``axis`` is the axis of channels in the shape of a row: each
    channel then gets numbers of its own. ``sample`` looks at so many rows only, spread over all. The stages before
    ``batch()`` are applied first. ``out`` writes the result as JSON.

    >>> found = infeed.stats(infeed.netcdf("era5.nc", variables=["t2m"]), out="stats.json")
    >>> found["fields"]["t2m"]["mean"]
    >>> data = infeed.netcdf("era5.nc", variables=["t2m"]).map(T.Normalize("stats.json"), on="t2m")

    NaN and infinite values are counted and left out of the other numbers. ``std`` divides by the number of values, as
    ``numpy.std`` does. Percentiles come from all values if they are few, else from about 100,000 of each channel that are
    drawn at random: ``percentiles_from`` says which. The result does not depend on the number of threads.

    ``progress`` shows a line on stderr while it works; by default if that is a terminal.
    """
    names = [fields] if isinstance(fields, str) else list(fields or [])
    if sample is not None and sample < 1:
        raise ValueError(f"sample must be at least 1, got {sample}")
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    options = json.dumps(
        {"fields": names, "axis": axis, "sample": sample, "threads": threads, "skip_errors": skip_errors}
    )
    recipe = json.loads(_core.survey_recipe(pipeline.plan, options))
    made = type(pipeline)(recipe, pipeline._given)
    show = sys.stderr.isatty() if progress is None else progress
    found: dict[str, Any] = json.loads(
        _core.survey(pipeline.plan, made.plan, options, _shown(sys.stderr) if show else None)
    )
    if show:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    if out is not None:
        with open(out, "w", encoding="utf-8") as file:
            file.write(json.dumps(found, indent=2) + "\n")
    return found


def _shown(file: TextIO) -> Callable[[int, int], None]:
    """Writes how far it is, a few times a second, once it takes longer than a moment."""
    due = time.monotonic() + 1.0

    def show(done: int, rows: int) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due = now + 0.2
            print(f"\rstats: {done} of {rows} rows ", end="", file=file, flush=True)

    return show
