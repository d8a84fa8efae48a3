"""Data in S3 through a slow proxy: infeed, a bare client, and the loaders that people use for it.

    python benches/remote.py --images PHOTOS [--only raw,train,cache,ranks,faults] [--peers all|none|NAME,...]

nginx serves the objects: it answers S3's GET and HEAD faster than any server that checks signatures, so the clients are
what is measured. `infeed proxy` before it adds the latency of a store that is far away. Everybody takes turns in each
round, and the best round counts; every loop is a process of its own with default settings.

raw     rows of 110 KB as bytes, shuffled; the fourth epoch of a process, and the first one of another, which has its
        memory to fill for the first time. A bare client sends 64 range requests at a time and drops the bytes.
        Target: 0.9 of the bare client, 2 x the best peer, 0.5 core-seconds per GB
train   JPEG: RandomResizedCrop 224, flip, normalise; from S3 and from the local disk, the fourth epoch. The server and
        the proxy run on the same cores: what they take is told. First batches are measured by themselves.
        Target: 0.95 of local; first batch 1.5 s without an index, 0.3 s with
cache   the third epoch with a cache on disk, against local files in the same order. Target: 0.98 of local, no request
ranks   4 processes with one cache, first epoch. Target: each byte fetched once
faults  1 % resets, 0.5 % answers 503, 1 % of answers 600 ms late.
        Target: p99 of waits 2 x their median; 0.9 of the rate without faults

Server and proxy share the cores of the loops, unless --loop-cores gives the loops cores of their own, as if the server
were another machine.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from servers import Nginx, Proxy

import envs
from remote import data

HERE = Path(__file__).parent
PART = 4 << 20
FAULTS = {"resets": 0.01, "errors": {503: 0.005}, "tail": {"rate": 0.01, "ms": 600}, "seed": 1}
PEERS = {
    "webdataset": "torch",
    "s3torchconnector": "remote",
    "streaming": "streaming",
    "litdata": "remote",
    "huggingface": "remote",
}
#: Local files in the order that infeed gives data from a store.
AS_REMOTE = {"kind": "sliding", "window": 64, "block": 18}


@contextlib.contextmanager
def on_cores(cores: set[int]) -> Iterator[None]:
    """Runs this process, and what it starts meanwhile, on these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def servers_cpu() -> float:
    """Core-seconds of all processes that this one has started and that still run: the server and the proxy."""
    ticks, parents = {}, {}
    for folder in Path("/proc").iterdir():
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split() if folder.name.isdigit() else []
        except OSError:
            continue
        if fields:
            parents[int(folder.name)], ticks[int(folder.name)] = int(fields[1]), int(fields[11]) + int(fields[12])

    def is_ours(pid: int) -> bool:
        return pid in parents and (parents[pid] == os.getpid() or is_ours(parents[pid]))

    return sum(spent for pid, spent in ticks.items() if is_ours(pid)) / os.sysconf("SC_CLK_TCK")


class Bench:
    """A server with data, and the proxy before it."""

    def __init__(self, server: Nginx, folder: Path, given: argparse.Namespace) -> None:
        self.server, self.folder, self.given = server, folder, given
        self.root = server.folder / "root" / server.bucket
        self.best: dict[str, dict[str, Any]] = {}
        rows = data.random_rows(given.rows, given.size)
        data.write_tars(self.root, "raw", rows)
        data.write_tars(self.root, "photo", data.photographs(given.images, given.photos))
        self.proxy = Proxy(server, latency_ms=given.latency)

    def total(self, name: str) -> int:
        return sum(path.stat().st_size for path in self.root.glob(f"{name}-*.tar"))

    def s3(self, name: str) -> str:
        return f"s3://{self.server.bucket}/{name}-{{0..{data.SHARDS - 1}}}.tar"

    def local(self, name: str) -> str:
        return f"{self.root}/{name}-{{0..{data.SHARDS - 1}}}.tar"

    def environment(self, index: str) -> dict[str, str]:
        keys = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_REGION": "us-east-1"}
        where = {"AWS_ENDPOINT_URL": self.server.endpoint(self.proxy), "AWS_DEFAULT_REGION": "us-east-1"}
        return {**os.environ, **keys, **where, "INFEED_CACHE": str(self.folder / index)}

    def run(self, command: list[str], index: str = "index") -> dict[str, Any]:
        """Runs a loop, with what the proxy saw of it."""
        self.proxy.reset()
        before, start = servers_cpu(), time.perf_counter()
        with on_cores(self.given.loops):
            done = subprocess.run(command, capture_output=True, text=True, env=self.environment(index))
        cores = (servers_cpu() - before) / (time.perf_counter() - start)
        if done.returncode:
            raise SystemExit(f"{' '.join(command[:3])} failed:\n{done.stderr[-3000:]}")
        seen = self.proxy.stats()
        told = json.loads(done.stdout.splitlines()[-1])
        return {**told, "requests": seen["requests"], "fetched": seen["bytes"], "servers": cores}

    def ours(self, url: str, work: str, *, index: str = "index", **more: Any) -> dict[str, Any]:
        given = {"url": url, "work": work, "shuffle": {}, **more}
        out = self.run([sys.executable, str(HERE / "remote" / "ours.py"), json.dumps(given)], index)
        return {**out, **out["epochs"][-1]}

    def peer(self, name: str) -> dict[str, Any]:
        bucket = f"s3://{self.server.bucket}"
        uris = [f"{bucket}/raw-{shard}.tar" for shard in range(data.SHARDS)]
        given = {
            "http": f"{self.server.endpoint(self.proxy)}/{self.server.bucket}/raw-{{0..{data.SHARDS - 1}}}.tar",
            "s3": uris,
            "mds": f"{bucket}/mds",
            "litdata": f"{bucket}/litdata",
        }
        python = envs.ensure(PEERS[name])
        if name in ("streaming", "litdata"):
            folder = self.root / {"streaming": "mds", "litdata": "litdata"}[name]
            if not folder.exists():
                tars = sorted(map(str, self.root.glob("raw-*.tar")))
                subprocess.run([python, HERE / "remote" / "theirs.py", "make", name, folder, *tars], check=True)
        return self.run([str(python), str(HERE / "remote" / "theirs.py"), name, json.dumps(given)])

    def bare(self) -> dict[str, Any]:
        """All bytes by 64 range requests at a time, one connection for each thread."""
        paths = {self.server.path(path.name): path.stat().st_size for path in sorted(self.root.glob("raw-*.tar"))}
        parts = [(path, at, min(size, at + PART)) for path, size in paths.items() for at in range(0, size, PART)]

        def fetch(share: list[tuple[str, int, int]]) -> int:
            connection, got = http.client.HTTPConnection("127.0.0.1", self.proxy.port), 0
            buffer = bytearray(1 << 20)
            for path, start, end in share:
                connection.request("GET", path, headers={"Range": f"bytes={start}-{end - 1}"})
                answer = connection.getresponse()
                while count := answer.readinto(buffer):
                    got += count
            connection.close()
            return got

        self.proxy.reset()
        before, start = os.times(), time.perf_counter()
        with on_cores(self.given.loops), concurrent.futures.ThreadPoolExecutor(64) as pool:
            got = sum(pool.map(fetch, (parts[i::64] for i in range(64))))
        spent, after = time.perf_counter() - start, os.times()
        assert got == sum(paths.values())
        cpu = after.user + after.system - before.user - before.system
        return {
            "bytes": got,
            "seconds": spent,
            "requests": len(parts),
            "fetched": got,
            "cpu": cpu,
            "rows": 0,
            "first": 0,
        }

    def turns(self, loops: dict[str, Callable[[], dict[str, Any]]], better: str = "seconds") -> None:
        """Runs all loops in turns, and keeps the best run of each. A peer that fails is left out, with its last words."""
        failed = set()
        for _ in range(self.given.rounds):
            for name, loop in loops.items():
                if name in failed:
                    continue
                try:
                    out = loop()
                except SystemExit as error:
                    if name not in PEERS:
                        raise
                    print(f"  {name} failed: {str(error).strip().splitlines()[-1]}", flush=True)
                    failed.add(name)
                    continue
                if name not in self.best or out[better] < self.best[name][better]:
                    self.best[name] = out

    def show(self, *names: str, against: str, by: str) -> None:
        """A line for each loop, compared with one of them."""
        rate = {name: self.best[name][by] / self.best[name]["seconds"] for name in names if name in self.best}
        unit, scale = ("MB/s", 1e-6) if by == "bytes" else ("rows/s", 1)
        for name, value in rate.items():
            out = self.best[name]
            counted = "cpu" in out and out["fetched"] > out["bytes"] / 2 > 0
            cpu = f"  {out['cpu'] / out['fetched'] * 1e9:5.2f} core-s/GB" if counted else " " * 17
            waits = f"  waits {out['median'] * 1e3:6.1f} / {out['late'] * 1e3:6.1f} ms" if "late" in out else ""
            print(
                f"  {name:28} {value * scale:9.0f} {unit}  {value / rate[against]:5.2f} of {against}"
                f"  first {out['first']:6.3f} s{cpu}  {out['requests']:6.0f} requests{waits}",
                flush=True,
            )


def raw(bench: Bench) -> None:
    url = bench.s3("raw")
    bench.ours(url, "raw")
    loops: dict[str, Callable[[], dict[str, Any]]] = {
        "bare client": bench.bare,
        "infeed": lambda: bench.ours(url, "raw", epochs=4),
        "infeed, first epoch": lambda: bench.ours(url, "raw"),
        "infeed, in order": lambda: bench.ours(url, "raw", shuffle=None),
        "infeed, global": lambda: bench.ours(url, "raw", shuffle={"kind": "global"}),
    }
    for name in bench.given.peers:
        loops[name] = lambda name=name: bench.peer(name)  # type: ignore[misc]
    bench.turns(loops)
    print(f"raw: {bench.given.rows} rows of {bench.given.size} bytes, {bench.given.latency:.0f} ms a request")
    bench.show(*loops, against="bare client", by="bytes")


def train(bench: Bench) -> None:
    url, local = bench.s3("photo"), bench.local("photo")
    fresh = iter(range(1_000_000))
    loops = {
        "local": lambda: bench.ours(local, "train", epochs=4),
        "S3": lambda: bench.ours(url, "train", epochs=4),
    }
    starts = {
        "local": lambda: bench.ours(local, "train"),
        "S3": lambda: bench.ours(url, "train"),
        "S3, no index": lambda: bench.ours(url, "train", index=f"fresh-{next(fresh)}"),
    }
    bench.ours(url, "train")
    bench.ours(local, "train")
    bench.turns(loops)
    firsts = {}
    for name, loop in starts.items():
        firsts[name] = min(loop()["epochs"][0]["first"] for _ in range(3))
    print(f"train: {bench.given.photos} JPEGs")
    bench.show(*loops, against="local", by="rows")
    near, far = bench.best["local"], bench.best["S3"]
    if bench.given.loop_cores:
        print(f"  {len(bench.given.loops)} cores for the loops, others for server and proxy")
    else:
        left = 1 - far["servers"] / len(bench.given.loops)
        ratio = far["rows"] / far["seconds"] / (near["rows"] / near["seconds"])
        cores = f"{far['servers']:.2f} of {len(bench.given.loops)} cores"
        print(f"  server and proxy took {cores}: S3 is {ratio / left:.2f} of local on the rest")
    print("  first batch: " + ", ".join(f"{name} {first:.3f} s" for name, first in firsts.items()))


def cache(bench: Bench) -> None:
    for name, work in (("raw", "raw"), ("photo", "train")):
        url, local, folder = bench.s3(name), bench.local(name), str(bench.folder / f"cache-{name}")
        bench.ours(url, work, cache=folder)

        def second(url: str = url, work: str = work, folder: str = folder) -> dict[str, Any]:
            return bench.ours(url, work, cache=folder, epochs=3)

        loops = {
            f"{work}, local": lambda local=local, work=work: bench.ours(local, work, shuffle=AS_REMOTE, epochs=3),
            f"{work}, cached": second,
        }
        bench.turns(loops)
        three, one = bench.best[f"{work}, cached"]["requests"], bench.ours(url, work, cache=folder)["requests"]
        epochs = f"{three} requests in a run of three epochs, {one} in a run of one: {(three - one) / 2:g} an epoch"
        print(f"cache: {work}, third epoch; {epochs}")
        bench.show(*loops, against=f"{work}, local", by="rows")


def ranks(bench: Bench) -> None:
    url, folder = bench.s3("raw"), str(bench.folder / "cache-ranks")
    bench.proxy.reset()
    given = json.dumps({"url": url, "work": "raw", "shuffle": {}, "cache": folder})
    command = [sys.executable, str(HERE / "remote" / "ours.py"), given]
    world = [{"RANK": str(rank), "WORLD_SIZE": "4", "LOCAL_RANK": str(rank)} for rank in range(4)]
    start = time.perf_counter()
    with on_cores(bench.given.loops):
        running = [
            subprocess.Popen(command, env={**bench.environment("index"), **one}, stdout=subprocess.PIPE)
            for one in world
        ]
    outs = [json.loads(process.communicate()[0].splitlines()[-1]) for process in running]
    spent, seen = time.perf_counter() - start, bench.proxy.stats()
    rows = sum(out["epochs"][0]["rows"] for out in outs)
    fetched = seen["bytes"] / bench.total("raw")
    print(f"ranks: {rows} rows over 4 processes in {spent:.2f} s; {fetched:.3f} of the bytes fetched")


def faults(bench: Bench) -> None:
    """The second of two epochs: waits of the first batches are those of every start."""
    given = bench.given
    proxy = {"latency_ms": given.latency, **({"bandwidth": given.link} if given.link else {})}
    link = f"a link of {given.link / 1e6:.0f} MB/s" if given.link else "a link without a limit"
    print(f"faults: {link}; 1 % resets, 0.5 % 503, 1 % late by 600 ms; waits: median / p99")
    for name, work in (("raw", "raw"), ("photo", "train")):
        url = bench.s3(name)
        # What the search for rows has read would stay in memory, and look like a rate.
        bench.ours(url, work)

        def loop(url: str = url, work: str = work, **more: Any) -> dict[str, Any]:
            bench.proxy.set(**proxy, **more)
            return bench.ours(url, work, step_ms=given.step, epochs=2)

        loops = {f"{work}, no faults": loop, f"{work}, faults": lambda loop=loop: loop(**FAULTS)}
        bench.turns(loops)
        bench.show(*loops, against=f"{work}, no faults", by="rows")
    bench.proxy.set(latency_ms=given.latency)


WORKS: dict[str, Callable[[Bench], None]] = {
    "raw": raw,
    "train": train,
    "cache": cache,
    "ranks": ranks,
    "faults": faults,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(WORKS), help="works, separated by commas")
    parser.add_argument("--peers", default="all", help="all, none, or names separated by commas")
    parser.add_argument("--images", type=Path, required=True, help="a folder of JPEG photographs")
    parser.add_argument("--latency", type=float, default=30, help="milliseconds for each request")
    parser.add_argument("--link", type=float, default=0, help="bytes per second of the link with faults; 0: no limit")
    parser.add_argument(
        "--step", type=float, default=0, help="milliseconds of a simulated training step, with faults"
    )
    parser.add_argument("--rows", type=int, default=16_000, help="rows of raw bytes")
    parser.add_argument("--photos", type=int, default=4_000)
    parser.add_argument("--size", type=int, default=110_000, help="bytes of a row")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--loop-cores", type=int, default=0, help="cores for the loops alone; 0: all for everybody")
    given = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if given.loop_cores >= len(cores):
        parser.error(f"--loop-cores {given.loop_cores} leaves none of {len(cores)} cores for the server")
    given.loops, others = set(cores[: given.loop_cores] or cores), set(cores[given.loop_cores :])
    given.peers = {"all": list(PEERS), "none": []}.get(given.peers, given.peers.split(","))
    with tempfile.TemporaryDirectory() as folder, on_cores(others), Nginx() as server:
        bench = Bench(server, Path(folder), given)
        with bench.proxy:
            for name in given.only.split(","):
                WORKS[name](bench)


if __name__ == "__main__":
    main()
