"""Compares two builds of infeed on every work of run.py and corpora.py, to find regressions.

    python benches/versions.py BEFORE AFTER [--rounds 5] [--only train,tokens] [--quick] [--json FILE]

BEFORE and AFTER are wheels, or folders that hold the package `infeed`. Every run is a process of its own; the two builds
take turns, and the best run of each counts. The ratio is AFTER over BEFORE.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import zipfile
from pathlib import Path

import corpora.works
import data as photos
import envs
import works
from corpora.data import NEEDS
from runs import HERE, Failed, call, prepare_data

#: A build may be this much slower before the report says so: runs of one build differ by as much.
LEAST = 0.98


def arguments() -> argparse.Namespace:
    """The command line."""
    known = [*works.WORKS, *corpora.works.WORKS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--only", default="", metavar="WORKS", help=f"of {','.join(known)}")
    parser.add_argument("--rounds", type=int, default=5, help="each build once per round; the best counts")
    parser.add_argument("--seconds", type=float, default=3.0, help="time of one run")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="a tenth of the data of corpora.py")
    parser.add_argument("--images", type=Path, help="folder of JPEGs to make the data from")
    parser.add_argument("--json", type=Path, help="write every run to this file")
    args = parser.parse_args()
    args.works = args.only.split(",") if args.only else known
    if unknown := [name for name in args.works if name not in known]:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(known)}")
    return args


def package(path: Path, scratch: Path) -> Path:
    """The folder to import infeed from."""
    if path.is_dir():
        return path.resolve()
    folder = scratch / path.parent.name / path.stem
    with zipfile.ZipFile(path) as wheel:
        wheel.extractall(folder)
    return folder


def commands(args: argparse.Namespace) -> list[tuple[str, list[str]]]:
    """What to run, by name: every work, and of corpora every way of infeed."""
    out = []
    common = ["--threads", str(args.threads), "--seconds", str(args.seconds)]
    pictures = [work for work in args.works if work in works.WORKS]
    if pictures:
        folder = prepare_data(args.images, install=True)
        photos.warm(folder)
        for work in pictures:
            command = [str(HERE / "worker.py"), "infeed", "--work", work, "--data", str(folder), *common]
            out.append((work, command))
    sizes = corpora.works.QUICK if args.quick else corpora.works.FULL
    folder = envs.cache() / "data-corpora" / sizes.name
    for work in args.works:
        if work not in corpora.works.WORKS:
            continue
        if not (folder / f"{NEEDS[work]}.done").exists():
            print(f"# {work}: no data; `python benches/corpora.py --only {work}` makes it", file=sys.stderr)
            continue
        for way in corpora.works.WORKS[work].ways:
            if way.env is None:
                command = [str(HERE / "corpora" / "child.py"), work, way.name, "--data", str(folder), *common]
                out.append((f"{work}: {way.name}", command))
    return out


def main() -> None:
    """All rounds, then the table."""
    args = arguments()
    lines: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as scratch:
        builds = {name: package(getattr(args, name), Path(scratch)) for name in ("before", "after")}
        todo = commands(args)
        for number in range(args.rounds):
            for name, command in todo:
                # The order alternates with the round, so that both builds have the disadvantage of going first.
                order = list(builds)[:: 1 if number % 2 == 0 else -1]
                for build in order:
                    os.environ["PYTHONPATH"] = str(builds[build])
                    try:
                        line = call([sys.executable, *command], 300)
                    except Failed as why:
                        print(f"# {name}, {build}: {why}", file=sys.stderr)
                        continue
                    lines.append({"work": name, "build": build, "rate": line["rate"], "others": line.get("others")})
                    print(f"# {name:32} {build:6} {float(str(line['rate'])):14,.0f}", file=sys.stderr, flush=True)
    print(f"\n{'work':34} {'before':>14} {'after':>14}  after/before, best of {args.rounds}")
    for name in dict.fromkeys(str(line["work"]) for line in lines):
        best = {
            build: max((float(str(x["rate"])) for x in lines if (x["work"], x["build"]) == (name, build)), default=0)
            for build in ("before", "after")
        }
        ratio = best["after"] / best["before"] if best["before"] else float("nan")
        mark = "" if ratio >= LEAST else f"  below {LEAST}"
        print(f"{name:34} {best['before']:14,.0f} {best['after']:14,.0f}  {ratio:.3f}{mark}")
    if args.json:
        args.json.write_text(json.dumps(lines, indent=1) + "\n")


if __name__ == "__main__":
    main()
