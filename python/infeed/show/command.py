"""``infeed show``: some samples of a path, on the terminal or in a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .page import SAMPLES, html
from .sheet import grid

_MOST = 256


def command(argv: Sequence[str]) -> int:
    """Run ``infeed show`` with these arguments, and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="infeed show",
        description="Show some samples: fields and ranges on the terminal, or a picture or a page in a file.",
    )
    parser.add_argument("path", nargs="+", metavar="PATH", help="what infeed.open takes: files, folders, patterns")
    parser.add_argument("-o", "--out", metavar="FILE", help="FILE.png: a grid of images; FILE.html: a table")
    parser.add_argument("--rows", type=int, metavar="N", help=f"how many samples (default: {SAMPLES})")
    parser.add_argument("--seed", type=int, metavar="S", help="shuffle with this seed; without it, the first samples")
    try:
        args = parser.parse_args(list(argv))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 2
    rows = SAMPLES if args.rows is None else args.rows
    if not 1 <= rows <= _MOST:
        return wrong(f"--rows must be 1 to {_MOST}, got {rows}")
    if args.seed is not None and args.seed < 0:
        return wrong(f"--seed must not be negative, got {args.seed}")
    ending = "" if args.out is None else args.out.rpartition(".")[2].lower()
    if args.out is not None and ending not in ("png", "html", "htm"):
        return wrong(f"-o takes a file that ends in .png or .html, got {args.out}")
    if ending in ("html", "htm") and rows > SAMPLES:
        return wrong(f"a page shows at most {SAMPLES} samples, got --rows {rows}")
    try:
        _show(args.path, args.out, ending, rows, args.seed)
    except (OSError, ValueError, TypeError, RuntimeError, LookupError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _show(paths: list[str], out: str | None, ending: str, rows: int, seed: int | None) -> None:
    import infeed

    pipeline = infeed.open(paths[0] if len(paths) == 1 else paths)
    pipeline = (pipeline if seed is None else pipeline.shuffle(seed=seed)).decode("auto")
    batch = pipeline.peek(rows)
    if out is None:
        print(batch)
        return
    if ending == "png":
        grid(batch, out, rows=rows)
    else:
        html(batch, out)
    print(out)


def wrong(what: str) -> int:
    """Print what is wrong with the arguments, and return the exit status for that."""
    print(f"error: {what}", file=sys.stderr)
    return 2
