"""How soon the first batch of remote tars comes: without an index, with sidecars, with a saved index.

    python benches/remote_first.py [--latency 30] [--rows 2800] [--size 110000] [--shards 8] [--rounds 5]

nginx serves the shards, and `infeed proxy` before it adds the latency of a store that is far away. Each run is a process
of its own; the clock starts before `infeed.tar(...)` and stops at the first batch of a shuffled epoch. The bare client
reads all bytes by 64 range requests at a time: what a search for rows would take at link speed. All take turns in each
round; the best round counts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from servers import Nginx, Proxy

import remote

FIRST = """
import sys, time, numpy, infeed
url, opened = sys.argv[1:3]
start = time.perf_counter()
data = getattr(infeed, opened)(url)
loader = data.shuffle(seed=1).batch(64).to_numpy()
batch = next(iter(loader))
first = time.perf_counter() - start
print(first, len(batch["cls"]))
"""


def first(url: str, cache: str, opened: str = "tar") -> float:
    """Seconds to the first batch."""
    environment = {**os.environ, "INFEED_CACHE": cache}
    command = [sys.executable, "-c", FIRST, url, opened]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return float(done.stdout.split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=30, help="milliseconds for each request")
    parser.add_argument("--rows", type=int, default=2800)
    parser.add_argument("--size", type=int, default=110_000, help="bytes of a row")
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    remote.SHARDS = given.shards
    with tempfile.TemporaryDirectory() as folder, Nginx() as server:
        data = Path(server.folder, "root", server.bucket)
        remote.make(data, given.rows, given.size)
        paths = {server.path(path.name): path.stat().st_size for path in sorted(data.iterdir())}
        total = sum(paths.values())
        with Proxy(server, latency_ms=given.latency) as proxy:
            url = server.uri(f"t-{{0..{given.shards - 1}}}.tar", proxy)
            kept = f"{folder}/kept"
            first(url, kept)
            best: dict[str, tuple[float, dict[str, float]]] = {}
            link = 0.0
            for _ in range(given.rounds):
                start = time.perf_counter()
                assert remote.bare(proxy.port, paths) == total
                link = max(link, total / (time.perf_counter() - start))
                for name in ("no index", "saved index", "saved index, open()", "sidecars"):
                    shutil.rmtree(f"{folder}/empty", ignore_errors=True)
                    for path in data.glob("*.infeed-index"):
                        path.unlink()
                    if name == "sidecars":
                        local = f"{data}/t-{{0..{given.shards - 1}}}.tar"
                        subprocess.run(
                            [sys.executable, "-m", "infeed", "index", local], check=True, capture_output=True
                        )
                    proxy.reset()
                    saved = name.startswith("saved")
                    opened = "open" if "open" in name else "tar"
                    spent = first(url, kept if saved else f"{folder}/empty", opened)
                    if name not in best or spent < best[name][0]:
                        best[name] = (spent, proxy.stats())
    print(f"{total / 1e6:.0f} MB in {given.shards} shards, {given.latency:.0f} ms a request")
    print(f"bare client, all bytes  {total / link:6.3f} s  {link / 1e6:6.0f} MB/s")
    for name, (spent, seen) in best.items():
        print(
            f"{name:22}  {spent:6.3f} s  {seen['requests']:5.0f} requests  {seen['bytes'] / total:5.2f} of the bytes"
        )


if __name__ == "__main__":
    main()
