"""Epochs of remote data through a proxy that injects every fault it knows, and the proof that no row suffered.

    python scripts/remote_chaos.py --runs 200 [--seed 0]
    python scripts/remote_chaos.py --only 17 --seed 0

Every run is an epoch of one format (tars, Parquet, tokens, JSON lines, zstd streams, TFRecord), from S3 or a web server,
with or without a cache on disk, read by 1 to 3 ranks that are processes of their own; in one of seven runs a rank is
killed and resumed. All is chosen by the seed and the number of the run. A run passes if

* every row came exactly once over all ranks, by what was received and by the ledgers, with the bytes of the local file;
* no process took longer than its limit;
* nothing is locked, `infeed cache verify` finds nothing, and no unfinished file is left.

Bytes that are changed on their way are injected only into formats with checksums: the others cannot notice them over
plain HTTP. There the epoch must be exact, or end with an error that names the shard; after `infeed cache clean` it must
be exact.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from chaosing import data, rank
from chaosing.runs import Failed, Place, Run

TESTS = Path(__file__).parent.parent / "tests"


class Servers:
    """The servers with the data, and a proxy before each."""

    def __init__(self, folder: Path) -> None:
        sys.path.insert(0, str(TESTS))
        from servers import Moto, Nginx, Proxy

        self.servers: dict[str, Any] = {"moto": Moto(), "nginx": Nginx()}
        for server in self.servers.values():
            server.put_folder(folder, "set/")
        self.proxies = {name: Proxy(server) for name, server in self.servers.items()}

    def place(self, name: str, scratch: Path, known: dict[str, dict[int, int]]) -> Place:
        """Where a run happens."""
        server, proxy = self.servers[name], self.proxies[name]
        root = server.uri("set/", proxy) if name == "nginx" else server.uri("set/")
        return Place(proxy, root, server.environment(proxy), scratch, known)

    def stop(self) -> None:
        """End all of them."""
        for one in (*self.proxies.values(), *self.servers.values()):
            one.stop()


def campaign(numbers: list[int], seed: int, servers: Servers, folder: Path) -> int:
    """Play these runs; returns how many failed."""
    known = data.expected(folder / "data")
    counts: Counter[str] = Counter()
    failures, longest, start = 0, 0.0, time.monotonic()
    for number in numbers:
        run = Run.choose(number, seed)
        scratch = folder / f"run-{number}"
        scratch.mkdir()
        begun = time.monotonic()
        try:
            told = run.play(servers.place(run.server, scratch, known), counts)
            shutil.rmtree(scratch)
        except Exception as error:
            failures += 1
            if not isinstance(error, Failed):
                traceback.print_exc()
            told = f"FAILED: {error}\n  again: python scripts/remote_chaos.py --only {number} --seed {seed}"
        took = time.monotonic() - begun
        longest = max(longest, took)
        print(f"run {number}: {run}: {told}; {took:.1f} s", flush=True)
    faults = sum(count for name, count in counts.items() if name.startswith("fault "))
    print(
        f"{len(numbers)} runs, {failures} failed; {counts['rows']:,} rows, {counts['kills']} kills, "
        f"{counts['requests']:,} requests, {counts['bytes'] / 1e6:,.0f} MB, {faults:,} faults, "
        f"{counts['changes caught']} times changed bytes were caught; "
        f"{time.monotonic() - start:.0f} s, the longest run {longest:.0f} s"
    )
    kinds = {name.removeprefix("fault "): count for name, count in counts.items() if name.startswith("fault ")}
    print("faults: " + ", ".join(f"{count:,} {name}" for name, count in sorted(kinds.items())))
    return failures


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="how many")
    parser.add_argument("--only", type=int, action="append", help="only the run with this number")
    parser.add_argument("--seed", type=int, default=0, help="chooses what happens in the runs")
    parser.add_argument("--rank", nargs=2, metavar=("JOB", "OUT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank:
        rank.main(*options.rank)
        return 0
    folder = Path(tempfile.mkdtemp(prefix="infeed-remote-chaos-"))
    data.write(folder / "data")
    servers = Servers(folder / "data")
    try:
        failures = campaign(options.only or list(range(options.runs)), options.seed, servers, folder)
    finally:
        servers.stop()
    if failures:
        print(f"what failed runs left is in {folder}")
    else:
        shutil.rmtree(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
