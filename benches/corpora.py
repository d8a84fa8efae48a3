"""Tokens, text and tables: infeed and its peers side by side on this machine.

    python benches/corpora.py                       # everything: makes its data and environments when they are missing
    python benches/corpora.py --quick               # a tenth of the data, one round
    python benches/corpora.py --only tokens,table --rounds 5 --json out.json
    python benches/corpora.py --peers-only          # without infeed

Every way of doing a work runs in a process of its own, pinned to the same CPUs, in turns: each once per round, the best
round of each counts. Rates are of whole passes over the data, see `corpora/child.py`; `corpora/works.py` lists works,
ways and targets, `corpora/ours.py` has infeed's side. Run it with the interpreter that infeed is installed in.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import data as photos
import envs
import machine
from corpora import report
from corpora.data import NEEDS
from corpora.works import FULL, QUICK, WORKS, Way
from runs import Failed, call

HERE = Path(__file__).resolve().parent


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="WORKS", help=f"of {','.join(WORKS)}")
    parser.add_argument("--quick", action="store_true", help="a tenth of the data, one round of short windows")
    parser.add_argument("--rounds", type=int, help="every way once per round; the best counts (default 3)")
    parser.add_argument("--seconds", type=float, help="time of one run, in whole passes (default 5)")
    parser.add_argument("--threads", type=int, default=2, help="threads or workers, and CPUs pinned to")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds after which one run is given up")
    parser.add_argument("--peers-only", action="store_true", help="leave infeed out")
    parser.add_argument("--ours-only", action="store_true", help="leave the peers out")
    parser.add_argument("--no-install", action="store_true", help="use only environments that are there")
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    args = parser.parse_args()
    args.works = args.only.split(",") if args.only else list(WORKS)
    unknown = [name for name in args.works if name not in WORKS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(WORKS)}")
    args.rounds = args.rounds or (1 if args.quick else 3)
    args.seconds = args.seconds or (1.5 if args.quick else 5.0)
    args.sizes = QUICK if args.quick else FULL
    return args


def say(text: str) -> None:
    """Print progress to standard error; the report goes to standard output."""
    print(f"# {text}", file=sys.stderr, flush=True)


class Bench:
    """The interpreters, the data, and what has been measured so far."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.data = envs.cache() / "data-corpora" / args.sizes.name
        self.pythons: dict[str | None, Path] = {None: Path(sys.executable)}
        self.missing: dict[str, str] = {}
        self.failed: dict[str, str] = {}
        self.lines: list[report.Found] = []

    def python(self, env: str | None) -> Path | None:
        """The interpreter of an environment, which is created on first use; None if that fails."""
        if env not in self.pythons and env not in self.missing:
            try:
                self.pythons[env] = envs.ensure(str(env), install=not self.args.no_install)
            except envs.NotInstalled as why:
                self.missing[str(env)] = str(why)
                say(f"{env}: not installed: {why}")
        return self.pythons.get(env)

    def prepare(self) -> None:
        """Create missing data, and read everything once so that all of it is in memory."""
        for kind in dict.fromkeys(NEEDS[work] for work in self.args.works):
            if not (self.data / f"{kind}.done").exists():
                python = self.python("tensorflow" if kind == "tfrecord" else "corpora")
                if python is None:
                    raise SystemExit(f"the data of {kind} cannot be made: {next(iter(self.missing.values()))}")
                say(f"making {kind} in {self.data}")
                more = [str(p) for p in sorted(envs.cache().glob("*/lib"))] if kind == "text" else []
                command = [
                    "nice",
                    str(python),
                    "-m",
                    "corpora.data",
                    str(self.data),
                    self.args.sizes.name,
                    kind,
                    *more,
                ]
                subprocess.run(command, check=True, cwd=HERE, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"})
        photos.warm(self.data)

    def ways(self, work: str) -> list[Way]:
        """The ways that take part."""
        chosen = [w for w in WORKS[work].ways if not (self.args.peers_only and w.env is None)]
        chosen = [w for w in chosen if not (self.args.ours_only and w.env is not None)]
        return [w for w in chosen if f"{work}/{w.name}" not in self.failed and self.python(w.env)]

    def measure(self, work: str, way: Way) -> None:
        """One run, noted and shown."""
        command = [str(self.pythons[way.env]), str(HERE / "corpora" / "child.py"), work, way.name]
        command += [
            "--data",
            str(self.data),
            "--threads",
            str(self.args.threads),
            "--seconds",
            str(self.args.seconds),
        ]
        try:
            line = call(command, self.args.timeout)
        except Failed as why:
            self.failed[f"{work}/{way.name}"] = str(why)
            say(f"{work}/{way.name} failed: {why}")
            return
        self.lines.append(line)
        rate = float(str(line["rate"])) / WORKS[work].scale
        say(f"{work:9} {way.name:28} {report.number(rate):>8} {WORKS[work].unit}, others {line['others']}")

    def run(self) -> report.Found:
        """All rounds."""
        for _ in range(self.args.rounds):
            for work in self.args.works:
                for way in self.ways(work):
                    self.measure(work, way)
        meta = self.data / "meta.json"
        return {
            "machine": machine.describe(),
            "settings": {
                "threads": self.args.threads,
                "rounds": self.args.rounds,
                "seconds": self.args.seconds,
                "size": vars(self.args.sizes),
            },
            "works": self.args.works,
            "text": json.loads(meta.read_text()) if meta.exists() else {},
            "runs": self.lines,
            "failed": self.failed,
            "not_installed": self.missing,
        }


def main() -> None:
    """The whole benchmark."""
    args = arguments()
    bench = Bench(args)
    bench.prepare()
    found = bench.run()
    print(report.markdown(found))
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")
    if args.check and report.missed(found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
