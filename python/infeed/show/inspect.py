"""``infeed inspect`` where Python is needed: a page (``--html``), and formats with arguments (``--set``)."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..annotated import annotated_set
from ..errors import SampleError
from .command import wrong
from .facts import CommandError, decoders, planned, surveyed
from .report import report

if TYPE_CHECKING:
    from ..pipeline import Pipeline

#: Samples of a page, rows in a terminal, most of either.
_SAMPLES, _LINES, _MOST = 16, 3, 64


def inspect(argv: Sequence[str]) -> int:
    """Run ``infeed inspect`` with these arguments, and return its exit status."""
    # Its help is that of the command in Rust and what `command_line.py` adds.
    parser = argparse.ArgumentParser(prog="infeed inspect", add_help=False, allow_abbrev=False)
    parser.add_argument("path", nargs="+", metavar="PATH")
    parser.add_argument("--html", action="store_true")
    parser.add_argument("-o", "--out", metavar="FILE")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--rows", type=int, metavar="N")
    parser.add_argument("--sample", type=int, metavar="N", default=256)
    parser.add_argument("--format", default="auto")
    try:
        args = parser.parse_args(list(argv))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 2
    args.rows = (_SAMPLES if args.html else _LINES) if args.rows is None else args.rows
    if args.out is not None and not args.html:
        return wrong("-o names the page that --html writes: give --html too")
    if not 1 <= args.rows <= _MOST or args.sample < 1:
        return wrong(f"--rows must be 1 to {_MOST} and --sample at least 1, got {args.rows} and {args.sample}")
    if "-" in args.path:
        return wrong(
            "standard input can be read only once, and a page needs it several times: write it to a file first"
        )
    given = [text.partition("=") for text in args.set]
    if any(not name or not sign for name, sign, _ in given):
        return wrong(f"--set takes NAME=VALUE, for example --set split=val, got {' '.join(args.set)}")
    values = {name: _value(text) for name, _, text in given}
    try:
        return _inspect(args, values)
    except CommandError as error:
        return int(error.args[0])
    except (OSError, ValueError, TypeError, RuntimeError, LookupError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _inspect(args: argparse.Namespace, values: dict[str, Any]) -> int:
    import infeed

    paths, format = list(args.path), args.format
    if format == "auto" and len(paths) == 1 and (found := annotated_set(paths[0])):
        format, paths, values = found.format, [found.path], {**found.args, **values}
    if values and format == "auto":
        return wrong("--set gives arguments to a format: name it with --format; `infeed list formats` shows them")
    path = paths[0] if len(paths) == 1 else paths
    pipeline = infeed.open(path) if format == "auto" else _opened(format, path, values)
    chosen: dict[str, Any] = decoders(pipeline, format)
    decoded = pipeline.decode(**chosen) if chosen else pipeline
    if values:
        facts = planned(pipeline, decoded.fields, chosen, format=format, sample=args.sample)
    else:
        facts = surveyed(paths, decoded.fields, format=format, sample=args.sample)
    title = " ".join(args.path)
    samples = _samples(pipeline, decoded, chosen, args.rows)
    if args.html:
        out = Path(args.out or "inspect.html")
        out.write_text(report(title, facts, samples, pipeline.plan.classes), encoding="utf-8")
        print(out)
    else:
        print(f"{title}\n\n{facts.text()}\n\nFirst rows\n  {samples}")
    return 0


def _samples(pipeline: Pipeline, decoded: Pipeline, chosen: dict[str, Any], rows: int) -> Any:
    """The first samples; or why there are none: the rest of the page is worth having without them."""
    try:
        try:
            return decoded.peek(rows)
        except SampleError:
            if not chosen:
                raise
            return pipeline.decode(optional=True, **chosen).peek(rows)  # some samples may lack some fields
    except (OSError, ValueError, TypeError, RuntimeError, LookupError) as error:
        return error


def _opened(format: str, path: str | list[str], values: dict[str, Any]) -> Pipeline:
    from ..sources import formats

    if format not in formats.__all__:
        raise ValueError(f"there is no format `{format}`; there are {', '.join(formats.__all__)}")
    made: Pipeline = getattr(formats, format)(path, **values)
    return made


def _value(text: str) -> Any:
    """A value as JSON has it (3, true, ["a"]); everything else is text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
