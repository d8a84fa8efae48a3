"""Measures infeed and its peers side by side on this machine and prints the comparison.

    python benches/run.py [--images DIR] [--only train,eval] [--peers torch,ffcv] [--quick] [--json FILE]

See README.md beside this file for what is measured and how.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path

import data
import envs
import extras
import floors
import machine
import report
from peers import INFEED, PEERS, Peer
from runs import Failed, prepare_data, worker
from works import WORKS

#: After the first round, peers slower than this share of the best one are not run again; see `Bench.contenders`.
CONTENDER = 0.6


def names(known: dict[str, object], text: str) -> list[str]:
    """A comma-separated choice, checked."""
    chosen = text.split(",") if text else list(known)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}; there are {', '.join(known)}")
    return chosen


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path, help="folder of JPEGs to make the data from")
    parser.add_argument("--only", default="", metavar="WORKS", help=f"of {','.join(WORKS)}")
    parser.add_argument("--peers", default="", metavar="PEERS", help=f"of {','.join(PEERS)}")
    parser.add_argument("--threads", type=int, default=2, help="threads or worker processes, and CPUs pinned to")
    parser.add_argument("--rounds", type=int, help="every runner once per round; the best counts (default 3)")
    parser.add_argument("--repeat", type=int, default=1, help="timed windows per run; the best counts")
    parser.add_argument("--seconds", type=float, help="length of a timed window (default 4)")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds after which one run is given up")
    parser.add_argument("--all-rounds", action="store_true", help="slow peers too take part in every round")
    parser.add_argument("--quick", action="store_true", help="one round of short windows")
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    parser.add_argument("--no-install", action="store_true", help="use only environments that are there")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    args = parser.parse_args()
    args.rounds = args.rounds or (1 if args.quick else 3)
    args.seconds = args.seconds or (1.5 if args.quick else 4.0)
    args.works = names(dict(WORKS), args.only)
    args.chosen = [PEERS[name] for name in names(dict(PEERS), args.peers)]
    return args


class Bench:
    """One benchmark: the interpreters, the data, and what has been measured so far."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.pythons: dict[str, Path] = {INFEED.name: Path(sys.executable)}
        self.missing: dict[str, str] = {}
        self.lines: list[report.Found] = []
        self.failed: dict[str, str] = {}
        self.floors: dict[str, float] = {}
        self.data = Path()

    def environments(self) -> None:
        """Create the environments; a peer that cannot be installed is reported, and the run continues."""
        for peer in self.args.chosen:
            try:
                self.pythons[peer.name] = envs.ensure(str(peer.env), install=not self.args.no_install)
            except envs.NotInstalled as why:
                self.missing[peer.name] = str(why)
                say(f"{peer.name}: not installed: {why}")

    def prepare(self) -> None:
        """Write every format once, then read everything once so that all of it is in memory."""
        self.data = prepare_data(self.args.images, install=not self.args.no_install)
        say(f"data: {self.data}")
        done = self.data / "prepared"
        done.mkdir(exist_ok=True)
        for peer in self.peers():
            for work in self.works(peer):
                note = done / f"{peer.name}-{work if work in ('raw', 'small') else 'photos'}"
                if note.exists():
                    continue
                try:
                    worker(self.pythons[peer.name], peer, work, self.data, timeout=900, prepare=True)
                    note.touch()
                except Failed as why:
                    self.failed[f"{peer.name}/{work}"] = f"preparing: {why}"
        data.warm(self.data)

    def peers(self) -> list[Peer]:
        """Those that are installed."""
        return [p for p in self.args.chosen if p.name in self.pythons]

    def works(self, peer: Peer) -> list[str]:
        """The works asked for that this peer can do."""
        return [w for w in self.args.works if w in peer.works]

    def rate(self, peer: str, work: str, threads: int) -> float:
        """Best rate so far, 0 if none."""
        same = (x for x in self.lines if (x["peer"], x["work"], x["threads"]) == (peer, work, threads))
        return max((float(x["rate"]) for x in same), default=0.0)

    def contenders(self, work: str, number: int) -> list[Peer]:
        """The peers of this round: all in the first, then those that can still affect a ratio."""
        able = [p for p in self.peers() if work in p.works and f"{p.name}/{work}" not in self.failed]
        if number == 0 or self.args.all_rounds:
            return able
        rates = {p.name: self.rate(p.name, work, self.args.threads) for p in able}
        least = CONTENDER * max(rates.values(), default=0.0)
        # A peer that was slow while other programs kept the machine busy gets another chance.
        disturbed = {x["peer"] for x in self.lines if x["work"] == work and float(x["others"]) > report.BUSY}
        kept = {"torch"} if WORKS[work].over_torch else set()
        return [p for p in able if rates[p.name] >= least or p.name in disturbed | kept]

    def measure(self, peer: Peer, work: str, threads: int) -> None:
        """One run, noted and printed."""
        try:
            line = worker(
                self.pythons[peer.name],
                peer,
                work,
                self.data,
                timeout=self.args.timeout + self.args.seconds * self.args.repeat,
                threads=threads,
                seconds=self.args.seconds,
                repeat=self.args.repeat,
            )
        except Failed as why:
            self.failed[f"{peer.name}/{work}"] = str(why)
            say(f"{peer.name}/{work} failed: {why}")
            return
        self.lines.append(line)
        print(json.dumps(line), flush=True)

    def rounds(self) -> None:
        """All take turns, so that load from other programs affects all equally."""
        program = None
        try:
            program = floors.build()
        except Exception as why:  # the floors are an addition; without cargo the comparison still stands
            self.failed["floors"] = f"{type(why).__name__}: {why}"
        photos = self.data / "distinct"
        for number in range(self.args.rounds):
            if program:
                self.floors = floors.better(self.floors, floors.run(program, photos, self.args.threads))
            for work in self.args.works:
                if f"{INFEED.name}/{work}" not in self.failed:
                    self.measure(INFEED, work, self.args.threads)
                    if work == "train" and self.args.threads > 1 and "infeed/train" not in self.failed:
                        self.measure(INFEED, work, 1)
                for peer in self.contenders(work, number):
                    self.measure(peer, work, self.args.threads)

    def result(self) -> report.Found:
        """All results."""
        return {
            "machine": machine.describe(),
            "settings": {k: getattr(self.args, k) for k in ("threads", "rounds", "repeat", "seconds", "works")},
            "data": json.loads((self.data / "meta.json").read_text()),
            "runs": self.lines,
            "failed": self.failed,
            "not_installed": self.missing,
            "floors": self.floors,
            "extras": extras.measure(Path(sys.executable), self.data, self.args.threads, quick=self.args.quick),
        }


def say(text: str) -> None:
    """Print progress to standard error; results go to standard output."""
    print(f"# {text}", file=sys.stderr, flush=True)


def main() -> None:
    """The whole benchmark."""
    args = arguments()
    # On SIGTERM, exit normally, so that child processes are ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if args.threads > len(os.sched_getaffinity(0)):
        say(f"--threads {args.threads} on {len(os.sched_getaffinity(0))} CPUs: they will share")
    bench = Bench(args)
    bench.environments()
    bench.prepare()
    bench.rounds()
    found = bench.result()
    found["checks"] = report.checks(found)
    print(report.markdown(found))
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")
    if args.check and not all(check["ok"] for check in found["checks"]):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
