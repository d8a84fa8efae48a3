"""Detection, segmentation, views and captions: infeed against torchvision v2 in a torch DataLoader.

    python benches/tasks.py [--images FOLDER] [--only detection,views] [--quick] [--dtype f32] [--json FILE]

Both read the same files, make the same sizes and types, and have the same batch size; `tasks/ours.py` and
`tasks/theirs.py` are the two sides. infeed runs with its defaults. torchvision decodes with Pillow and with
torchvision.io, with two worker processes and, with `--quick` or `--all-ways`, with none; the best of these is the peer.

Every run is a process of its own, pinned to the same CPUs. All take turns, round by round. The clock starts after the
first batches of an epoch (see `measure.py`). The table has the best round of each, the median in brackets, and the ratio
of the best. Images are the photographs of `--images`, or made up; boxes, masks and captions are always made up.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from pathlib import Path

import data as photos
import envs
import machine
import measure
from runs import Failed, call
from tasks import WORKS, Task

HERE = Path(__file__).resolve().parent


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path, help="folder of JPEGs to make the data from")
    parser.add_argument("--only", default="", metavar="WORKS", help=f"of {','.join(WORKS)}")
    parser.add_argument("--quick", action="store_true", help="one round of short windows over less data")
    parser.add_argument("--all-ways", action="store_true", help="torchvision without worker processes, too")
    parser.add_argument("--rows", type=int, help="rows of an epoch (default 4096, 1024 with --quick)")
    parser.add_argument("--rounds", type=int, help="every way once per round (default 3, 1 with --quick)")
    parser.add_argument("--seconds", type=float, help="length of a timed window (default 5, 2 with --quick)")
    parser.add_argument("--threads", type=int, default=2, help="CPUs pinned to, and workers of the DataLoader")
    parser.add_argument("--dtype", choices=["u8", "f32"], default="u8", help="of images: u8, or f32 in 0..1")
    parser.add_argument("--timeout", type=float, default=180.0, help="seconds after which one run is given up")
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--child", nargs=2, metavar=("WORK", "WAY"), help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.works = args.only.split(",") if args.only else list(WORKS)
    unknown = [name for name in args.works if name not in WORKS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(WORKS)}")
    args.rows = args.rows or (1024 if args.quick else 4096)
    args.rounds = args.rounds or (1 if args.quick else 3)
    args.seconds = args.seconds or (2.0 if args.quick else 5.0)
    return args


def child(args: argparse.Namespace) -> None:
    """One run, in this process: prints a line of JSON."""
    work, way = args.child
    os.sched_setaffinity(0, measure.pick_cpus(args.threads))
    task = Task(work, args.data, args.dtype, args.threads)
    if way == "infeed":
        from tasks import ours

        epochs = ours.epochs(task)
    else:
        from tasks import theirs

        reader, workers = way.split("-")
        epochs = theirs.epochs(task, reader, int(workers))
    found = measure.run(epochs, seconds=args.seconds, repeat=1)
    print(json.dumps({"work": work, "way": way, "rate": found.rates[0], "out": found.out, "others": found.others}))


def rounds(args: argparse.Namespace, folder: Path) -> list[dict]:
    """All take turns."""
    lines: list[dict] = []
    failed: set[tuple[str, str]] = set()
    workers = [args.threads, 0] if args.quick or args.all_ways else [args.threads]
    ways = ["infeed", *(f"{reader}-{count}" for count in workers for reader in ("pil", "tensor"))]
    options = ["--data", str(folder), "--threads", str(args.threads), "--seconds", str(args.seconds)]
    for _ in range(args.rounds):
        for work in args.works:
            for way in ways:
                if (work, way) in failed:
                    continue
                command = [sys.executable, str(HERE / "tasks.py"), "--child", work, way, *options]
                try:
                    line = call([*command, "--dtype", args.dtype], args.timeout)
                except Failed as why:
                    failed.add((work, way))
                    print(f"# {work} {way} failed: {why}", file=sys.stderr, flush=True)
                    continue
                lines.append(line)
                shown = f"{line['rate']:8.1f} images/s, {line['out']}, others {line['others']:.2f}"
                print(f"# {work:13} {way:9} {shown}", file=sys.stderr, flush=True)
    return lines


def table(lines: list[dict], works: list[str]) -> tuple[str, bool]:
    """The report, and whether every target is met."""
    out = ["| work | infeed | torchvision | way | ratio | target |", "|---|---:|---:|---|---:|---:|"]
    met = True
    for work in works:
        rates: dict[str, list[float]] = {}
        for line in lines:
            if line["work"] == work:
                rates.setdefault(line["way"], []).append(line["rate"])
        ours = rates.pop("infeed", [])
        if not ours or not rates:
            out.append(f"| {work} | failed | | | | {WORKS[work].target:g} |")
            met = False
            continue
        way, peer = max(rates.items(), key=lambda item: max(item[1]))
        ratio = max(ours) / max(peer)
        met &= ratio >= WORKS[work].target
        cells = [f"{max(found):.0f} ({statistics.median(found):.0f})" for found in (ours, peer)]
        reader, workers = way.split("-")
        how = f"{reader}, {workers} workers"
        out.append(f"| {work} | {cells[0]} | {cells[1]} | {how} | {ratio:.1f} | {WORKS[work].target:g} |")
    return "\n".join(out), met


def main() -> None:
    """The whole benchmark."""
    args = arguments()
    # Tokenizers of forked workers would warn about their own threads.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if args.child:
        return child(args)
    from tasks.data import prepared

    folder = prepared(args.images, args.rows, envs.cache() / "data-tasks")
    photos.warm(folder)
    lines = rounds(args, folder)
    about = machine.describe()
    text, met = table(lines, args.works)
    print(f"images/s, {args.dtype}, {args.threads} CPUs: the best of {args.rounds} rounds (the median)")
    print(f"{about['cpu']}, commit {about['commit']}, {about['date']}\n")
    print(text)
    for work in args.works:
        print(f"\n* {work}: {WORKS[work].about}, batch {WORKS[work].batch}", end="")
    print()
    if args.json:
        settings = {key: getattr(args, key) for key in ("rows", "rounds", "seconds", "threads", "dtype")}
        args.json.write_text(json.dumps({"machine": about, "settings": settings, "runs": lines}, indent=1) + "\n")
    if args.check and not met:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
