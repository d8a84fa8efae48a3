"""Rows of remote tars: infeed, a bare client and WebDataset through the same proxy.

    python benches/remote.py [--latency 30] [--rows 4000] [--size 110000] [--rounds 3]

nginx serves the shards, and `infeed proxy` before it adds the latency of a store that is far away. The bare client sends
64 range requests at a time and drops the bytes: what the link gives. Each of the others hands out all rows of an epoch,
shuffled, as bytes. The index of the shards is known, as in every run but the first. All of them take turns in each round;
the best round counts. With `--faults` the proxy also breaks connections, answers 503 and is late now and then, and the
waits of single batches are shown.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import http.client
import io
import os
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from servers import Nginx, Proxy

SHARDS = 8
PART = 4 << 20
FAULTS = {"resets": 0.01, "errors": {503: 0.005}, "tail": {"rate": 0.01, "ms": 600}, "seed": 1}


def make(folder: Path, rows: int, size: int) -> None:
    """Writes the shards."""
    random = np.random.default_rng(0)
    for shard in range(SHARDS):
        with tarfile.open(folder / f"t-{shard}.tar", "w") as file:
            for row in range(shard, rows, SHARDS):
                for name, data in ((f"{row:06}.bin", random.bytes(size)), (f"{row:06}.cls", b"1")):
                    member = tarfile.TarInfo(name)
                    member.size = len(data)
                    file.addfile(member, io.BytesIO(data))


def bare(port: int, paths: dict[str, int]) -> int:
    """All bytes by 64 range requests at a time, one connection for each thread."""
    parts = [(path, at, min(size, at + PART)) for path, size in paths.items() for at in range(0, size, PART)]
    shares = [parts[i::64] for i in range(64)]

    def fetch(share: list[tuple[str, int, int]]) -> int:
        connection, got = http.client.HTTPConnection("127.0.0.1", port), 0
        buffer = bytearray(1 << 20)
        for path, start, end in share:
            connection.request("GET", path, headers={"Range": f"bytes={start}-{end - 1}"})
            answer = connection.getresponse()
            while count := answer.readinto(buffer):
                got += count
        connection.close()
        return got

    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        return sum(pool.map(fetch, shares))


LOOP = """
import sys, time, infeed
url, cache, mode = sys.argv[1:4]
data = infeed.open(url, **({"cache": cache} if cache else {}))
start = time.perf_counter()
loader = data.shuffle(seed=1, **({"kind": "global"} if mode == "global" else {})).batch(64).to_numpy()
waits, rows, size, last, first = [], 0, 0, time.perf_counter(), None
for batch in loader:
    now = time.perf_counter()
    waits.append(now - last)
    first = first or now - start
    rows += len(batch["cls"])
    size += sum(len(item) for item in batch["bin"])
    last = time.perf_counter()
spent = time.perf_counter() - start
waits.sort()
print(rows, size, spent, first, waits[len(waits) // 2], waits[int(len(waits) * 0.99)])
"""

WEBDATASET = """
import sys, time, webdataset
start = time.perf_counter()
data = webdataset.WebDataset(sys.argv[1], shardshuffle=8, empty_check=False).shuffle(1000)
loader = webdataset.WebLoader(data, batch_size=None, num_workers=2)
rows = size = 0
first = None
for row in loader:
    first = first or time.perf_counter() - start
    rows += 1
    size += len(row["bin"])
print(rows, size, time.perf_counter() - start, first, 0, 0)
"""


def run(code: str, *arguments: str) -> tuple[list[float], float]:
    """Runs a loop in a process of its own. Returns what it printed, and its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [float(word) for word in done.stdout.split()[-6:]], spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=30, help="milliseconds for each request")
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--size", type=int, default=110_000, help="bytes of a row")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--faults", action="store_true", help="with resets, 503 and a tail of 600 ms")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Nginx() as server:
        os.environ["INFEED_CACHE"] = f"{folder}/index"
        data = Path(server.folder, "root", server.bucket)
        make(data, given.rows, given.size)
        paths = {server.path(path.name): path.stat().st_size for path in sorted(data.iterdir())}
        total = sum(paths.values())
        with Proxy(server, latency_ms=given.latency, **(FAULTS if given.faults else {})) as proxy:
            url = server.uri("t-{0..7}.tar", proxy)
            local, cache = f"{data}/t-{{0..7}}.tar", f"{folder}/cache"
            for warm in (url, local):
                run(LOOP, warm, "", "blocks")
            run(LOOP, url, cache, "blocks")
            loops: dict[str, Callable[[], tuple[list[float], float]]] = {
                "infeed": lambda: run(LOOP, url, "", "blocks"),
                "infeed, global": lambda: run(LOOP, url, "", "global"),
                "infeed, cached": lambda: run(LOOP, url, cache, "blocks"),
                "infeed, local": lambda: run(LOOP, local, "", "global"),
            }
            if not given.faults:
                loops["WebDataset, curl"] = lambda: run(WEBDATASET, f"pipe:curl -s {url}")
            best: dict[str, tuple[list[float], float, dict[str, float]]] = {}
            link = 0.0
            for _ in range(given.rounds):
                if not given.faults:
                    start = time.perf_counter()
                    assert bare(proxy.port, paths) == total
                    link = max(link, total / (time.perf_counter() - start))
                for name, loop in loops.items():
                    proxy.reset()
                    numbers, cpu = loop()
                    if name not in best or numbers[2] < best[name][0][2]:
                        best[name] = (numbers, cpu, proxy.stats())
    print(f"{given.rows} rows of {given.size} bytes in {SHARDS} shards, {given.latency:.0f} ms a request")
    if link:
        print(f"{'bare client, 64 requests':26} {link / 1e6:8.0f} MB/s")
    for name, (numbers, cpu, seen) in best.items():
        rows, size, spent, first, median, late = numbers
        share = f"{size / spent / link:6.2f} of the bare client" if link else ""
        print(
            f"{name:26} {size / spent / 1e6:8.0f} MB/s {rows / spent:8.0f} rows/s  first batch {first:6.3f} s"
            f"  CPU {cpu:5.2f} s  waits {median * 1e3:6.1f} / {late * 1e3:6.1f} ms (p50, p99)"
            f"  {seen['requests']:6.0f} requests {seen['bytes'] / total:5.2f} of the bytes {share}"
        )


if __name__ == "__main__":
    main()
