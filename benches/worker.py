"""Runs one loader on one work in this process and prints one JSON line.

    python worker.py PEER --work train --data DIR [--threads 2] [--seconds 4] [--repeat 1] [--prepare]

Started by run.py with the interpreter of the peer's environment. Nothing heavy is imported before
the process is pinned, because libraries size their thread pools when they are imported.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import multiprocessing
import os
import sys
from dataclasses import asdict
from pathlib import Path

import measure
from peers import INFEED, PEERS
from works import WORKS, Task


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=[INFEED.name, *PEERS])
    parser.add_argument("--work", choices=list(WORKS), required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4.0, help="length of one timed window")
    parser.add_argument("--repeat", type=int, default=1, help="windows; the best counts")
    parser.add_argument("--prepare", action="store_true", help="write the data this peer reads, and stop")
    return parser.parse_args()


def version(package: str) -> str:
    """The installed version of a distribution."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def main() -> None:
    """Prepare, or measure and print."""
    args = arguments()
    if sys.platform == "linux":
        # Newer Pythons start workers from a server process, which some of the peers do not survive.
        multiprocessing.set_start_method("fork")
    if not args.prepare:
        os.sched_setaffinity(0, measure.pick_cpus(args.threads))
        os.environ.setdefault("OMP_NUM_THREADS", str(args.threads))
    peer = INFEED if args.peer == INFEED.name else PEERS[args.peer]
    task = Task(args.work, args.data.resolve(), args.threads, peer.decoder)
    name = peer.module if peer is INFEED else f"peers.{peer.module}"
    module = importlib.import_module(name)
    if args.prepare:
        if hasattr(module, "prepare"):
            module.prepare(task)
        return
    result = measure.run(module.epochs(task), seconds=args.seconds, repeat=args.repeat)
    line = {
        "peer": args.peer,
        "version": version(peer.package),
        "work": args.work,
        "threads": args.threads,
        "rate": round(max(result.rates), 1),
        **asdict(result),
    }
    print("\n" + json.dumps(line), flush=True)
    # Some peers hang or crash while Python tears down their threads; the measurement is done.
    os._exit(0)


if __name__ == "__main__":
    main()
