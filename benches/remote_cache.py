"""Bytes that a cache smaller than the data fetches, epoch after epoch, against the best that any cache could do.

    python benches/remote_cache.py [--rows 4000] [--size 110000] [--epochs 10] [--shares 0.25 0.5] [--rates]

nginx serves the shards, and `infeed proxy` before it counts the bytes. The loop hands out all rows of some epochs,
shuffled in blocks (the default for remote data) or globally, and tells which row came when. For that order two bounds
are computed with Belady's algorithm, which knows the future and gives up what is needed last: one that keeps and
fetches the cache's chunks as a whole, and one that keeps and fetches single rows, which no real cache could. The ratio
is that to the smaller of the two, from the second epoch on. Rows of the epoch behind the last are fetched ahead and
count, too: with few epochs they are a large share.

With `--rates` the rate of a loop over a cache that holds everything is compared with that of the same loop over local
files, in the same order, for raw rows and for training images (`--photos FOLDER`).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from belady import CHUNK, bounds, write_shards
from servers import Nginx, Proxy

SHARDS = 8

LOOP = """
import json, sys, infeed
url, cache, limit, kind, epochs = sys.argv[1:6]
data = infeed.open(url, cache=cache, cache_limit=int(limit))
loader = data.shuffle(seed=1, **({"kind": "global"} if kind == "global" else {})).batch(64).to_numpy()
for epoch in range(int(epochs)):
    rows = [int(bytes(row)) for batch in loader for row in batch["cls"]]
    print(json.dumps(rows), flush=True)
    sys.stdin.readline()
print(json.dumps(loader.stats()["cache"]))
"""

RATE = """
import sys, time, infeed
url, cache, how, epochs = sys.argv[1:5]
data = infeed.open(url, **({"cache": cache} if cache else {}))
# The same order for both, as URLs have it: 64 blocks open at a time.
data = data.shuffle(seed=1, kind="sliding", window=64, block=int(sys.argv[5]))
if how == "images":
    data = data.decode(jpg="rgb").map(infeed.transforms.RandomResizedCrop(224), on="jpg")
loader = data.batch(64).to_numpy()
for epoch in range(int(epochs)):
    start, rows = time.perf_counter(), 0
    for batch in loader:
        rows += len(batch["cls"])
    print(rows / (time.perf_counter() - start), flush=True)
"""


def loop(proxy: Proxy, url: str, cache: str, limit: int, kind: str, epochs: int) -> tuple[list, list, dict]:
    """Runs the loop. Returns the rows and the bytes of each epoch, and what the cache counted."""
    command = [sys.executable, "-c", LOOP, url, cache, str(limit), kind, str(epochs)]
    orders, passed, before = [], [], proxy.stats()["bytes"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        for _ in range(epochs):
            orders.append(json.loads(process.stdout.readline()))
            now = proxy.stats()["bytes"]
            passed.append(now - before)
            before = now
            process.stdin.write("\n")
            process.stdin.flush()
        counts = json.loads(process.stdout.readline())
    return orders, passed, counts


def compare(given: argparse.Namespace) -> None:
    """Prints the bytes of caches that are smaller than the data."""
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder, Nginx() as server:
        os.environ["INFEED_CACHE"] = f"{folder}/index"
        data = Path(server.folder, "root", server.bucket)
        places = write_shards(data, SHARDS, (("bin", random.bytes(given.size)) for _ in range(given.rows)))
        sizes = [path.stat().st_size for path in sorted(data.iterdir())]
        limits = {f"{share:.0%}": int(share * sum(sizes)) for share in given.shares}
        limits |= {"half a shard": sizes[0] // 2, "1 MB": 1_000_000}
        print(f"{given.rows} rows of {given.size} bytes in {SHARDS} shards; bytes in MB")
        with Proxy(server) as proxy:
            url = server.uri("t-{0..7}.tar", proxy)
            for kind in ("block", "global"):
                for name, limit in limits.items():
                    cache = f"{folder}/cache-{kind}-{limit}"
                    orders, passed, counts = loop(proxy, url, cache, limit, kind, given.epochs)
                    chunks, rows = bounds(orders, places, sizes, limit)
                    fetched = sum(passed[1:])
                    print(
                        f"{kind:7} {name:>13}  epochs {' '.join(f'{count / 1e6:7.1f}' for count in passed)}"
                        f"  from the second on {fetched / 1e6:8.1f}  Belady {chunks / 1e6:9.1f} (chunks)"
                        f" {rows / 1e6:8.1f} (rows)  ratio {fetched / min(chunks, rows):5.3f}"
                        f"  evictions {counts['evictions']}",
                        flush=True,
                    )


def rates(given: argparse.Namespace) -> None:
    """Prints the rate of a cache that holds everything, relative to local files."""
    random = np.random.default_rng(0)
    found_photos = sorted(given.photos.iterdir()) if given.photos else []
    photos = [path for path in found_photos if path.suffix.lower() in (".jpg", ".jpeg")]
    kinds = {"raw": [("bin", random.bytes(given.size)) for _ in range(given.rows)]}
    if photos:
        kinds["images"] = [("jpg", photos[at % len(photos)].read_bytes()) for at in range(given.images)]
    for how, fields in kinds.items():
        with tempfile.TemporaryDirectory() as folder, Nginx() as server:
            os.environ["INFEED_CACHE"] = f"{folder}/index"
            data = Path(server.folder, "root", server.bucket)
            write_shards(data, SHARDS, fields)
            total = sum(path.stat().st_size for path in data.iterdir())
            block = str(max(1, len(fields) * CHUNK // total))
            with Proxy(server) as proxy:
                url, local = server.uri("t-{0..7}.tar", proxy), f"{data}/t-{{0..7}}.tar"
                found: dict[str, list[float]] = {"cached": [], "local": []}
                for _ in range(given.rounds):
                    for name, path, cache in (("cached", url, f"{folder}/cache"), ("local", local, "")):
                        command = [sys.executable, "-c", RATE, path, cache, how, "4", block]
                        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                        found[name] += [float(rate) for rate in said.split()[1:]]
            cached, near = (statistics.median(found[name]) for name in ("cached", "local"))
            print(
                f"{how:7} cached {cached:9.0f} rows/s, local {near:9.0f} rows/s: {cached / near:.3f}"
                f" (best: {max(found['cached']) / max(found['local']):.3f})",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--size", type=int, default=110_000, help="bytes of a row")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.25, 0.5], help="limits, as shares of the data")
    parser.add_argument(
        "--rates", action="store_true", help="rates of a cache that holds everything, instead of bytes"
    )
    parser.add_argument("--photos", type=Path, help="JPEG files for --rates")
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    (rates if given.rates else compare)(given)


if __name__ == "__main__":
    main()
