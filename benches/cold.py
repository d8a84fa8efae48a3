"""Rows of tars that are not in memory: infeed, fio and plain loops on the same files.

    python benches/cold.py [--folder FOLDER] [--rows 36000] [--size 115000] [--rounds 3]

Writes the shards once (4 GB; the folder must be on the disk that is measured), and takes them out of the page cache
before every run. `random` is all rows of an epoch in a global shuffle, `in order` the same without a shuffle. fio reads
all files once, past the page cache, 32 reads at a time: blocks of a row's size at random places, or 1 MiB in order.
The others hand out all rows as bytes, with default settings. All of them take turns in each round; the best round counts.
infeed is measured from the first request of an epoch to its last batch; its index of the shards is known, as in every run
but the first.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

SHARDS = 16

INFEED = """
import sys, time, infeed
folder, order = sys.argv[1:3]
data = infeed.open(f"{folder}/*.tar")
if order == "random":
    data = data.shuffle(seed=int(sys.argv[3]), kind="global")
start = time.perf_counter()
loader = data.batch(64).to_numpy()
size = sum(sum(len(row) for row in batch["bin"]) for batch in loader)
print(size, time.perf_counter() - start, loader.stats()["device_share"])
"""

# Reads rows with pread: by itself, in threads, or in the worker processes of a torch DataLoader.
PREAD = """
import concurrent.futures, glob, os, random, sys, time
folder, order, seed, how = sys.argv[1:5]
files = sorted(glob.glob(f"{folder}/*.tar"))
rows = []
for file in files:
    with open(f"{file}.rows") as known:
        rows.extend((file, int(at), int(count)) for at, count in (line.split() for line in known))
if order == "random":
    random.Random(int(seed)).shuffle(rows)
opened = {}
class Rows:
    def __len__(self):
        return len(rows)
    def __getitem__(self, at):
        file, start, count = rows[at]
        if file not in opened:
            opened[file] = os.open(file, os.O_RDONLY)
        return os.pread(opened[file], count, start)
    def some(self, places):
        return sum(len(self[at]) for at in places)
if how == "torch":
    import torch.utils.data
    loader = torch.utils.data.DataLoader(Rows(), batch_size=64, num_workers=2, collate_fn=list)
start = time.perf_counter()
if how == "torch":
    size = sum(sum(len(row) for row in batch) for batch in loader)
else:
    parts = [range(at, min(at + 64, len(rows))) for at in range(0, len(rows), 64)]
    with concurrent.futures.ThreadPoolExecutor(int(how)) as pool:
        size = sum(pool.map(Rows().some, parts))
print(size, time.perf_counter() - start, 0)
"""


def make(folder: Path, rows: int, size: int) -> None:
    """Writes the shards, and beside each of them where its rows are."""
    pool = random.Random(0).randbytes(16 << 20)
    for shard in range(SHARDS):
        path = folder / f"t-{shard:02}.tar"
        places = []
        with tarfile.open(path, "w") as file:
            for row in range(shard, rows, SHARDS):
                start = row * 7919 % (len(pool) - size)
                for name, data in ((f"{row:06}.bin", pool[start : start + size]), (f"{row:06}.cls", b"1")):
                    member = tarfile.TarInfo(name)
                    member.size = len(data)
                    if name.endswith("bin"):
                        places.append(f"{file.offset + 512} {size}")
                    file.addfile(member, io.BytesIO(data))
        path.with_suffix(".tar.rows").write_text("\n".join(places))
        with path.open("rb") as written:
            os.fsync(written.fileno())


def in_memory(path: Path) -> float:
    """The share of some places of a file that is in memory. Asking may read the page that is asked for."""
    file = os.open(path, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    here, places = 0, range(1 << 20, path.stat().st_size, 64 << 20)
    for place in places:
        with contextlib.suppress(BlockingIOError):
            here += os.preadv(file, [bytearray(1)], place, os.RWF_NOWAIT)
    os.close(file)
    return here / max(len(places), 1)


def forget(files: list[Path]) -> None:
    """Asks the kernel to take files out of the page cache."""
    for path in files:
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def make_cold(files: list[Path]) -> None:
    """Takes files out of the page cache, with all others if need be."""
    forget(files)
    warm = max(in_memory(path) for path in files)
    if warm and os.geteuid() == 0:
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("3")
        warm = max(in_memory(path) for path in files)
    if warm:
        print(f"warning: {warm:.0%} of a file cannot be taken out of memory", file=sys.stderr)
    # What the look has read.
    forget(files)


def fio(files: list[Path], order: str, size: int) -> tuple[float, float]:
    """MB/s of fio, and CPU seconds per GB."""
    kind = ["--rw=randread", f"--bs={size // 1024}k", "--file_service_type=random"]
    if order != "random":
        kind = ["--rw=read", "--bs=1m", "--file_service_type=sequential"]
    names = ":".join(str(path).replace(":", "\\:") for path in files)
    common = ["--name=cold", f"--filename={names}", "--readonly", "--direct=1", "--ioengine=libaio", "--iodepth=32"]
    done = subprocess.run(["fio", *common, *kind, "--output-format=json"], capture_output=True, text=True, check=True)
    job = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
    read = job["read"]
    cpu = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1e3
    return read["bw_bytes"] / 1e6, cpu / (read["io_bytes"] / 1e9)


def run(code: str, *arguments: str) -> tuple[float, float, float]:
    """Runs a loop in a process of its own. Returns MB/s, CPU seconds per GB, and the share that came from a device."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    size, seconds, device = (float(word) for word in done.stdout.split()[-3:])
    return size / seconds / 1e6, spent / (size / 1e9), device


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the shards are, or are written to; kept")
    parser.add_argument("--rows", type=int, default=36_000)
    parser.add_argument("--size", type=int, default=115_000, help="bytes of a row")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help="only fio and infeed")
    given = parser.parse_args()
    if shutil.which("fio") is None:
        raise SystemExit("fio is not installed: apt-get install fio")
    with tempfile.TemporaryDirectory(dir=".") as temporary:
        os.environ["INFEED_CACHE"] = f"{temporary}/index"
        folder = given.folder or Path(temporary, "shards")
        folder.mkdir(parents=True, exist_ok=True)
        if not list(folder.glob("*.tar.rows")):
            make(folder, given.rows, given.size)
        files = sorted(folder.glob("*.tar"))
        where = str(folder)
        # Makes the index.
        run(INFEED, where, "in order", "0")
        for order in ("random", "in order"):
            loops: dict[str, Callable[[str], tuple[float, float, float]]] = {
                "fio": lambda _, order=order: (*fio(files, order, given.size), 1.0),
                "infeed": lambda seed, order=order: run(INFEED, where, order, seed),
            }
            if not given.alone:
                loops["pread, 2 threads"] = lambda seed, order=order: run(PREAD, where, order, seed, "2")
                loops["pread, 32 threads"] = lambda seed, order=order: run(PREAD, where, order, seed, "32")
                try:
                    import torch  # noqa: F401

                    loops["torch, 2 workers"] = lambda seed, order=order: run(PREAD, where, order, seed, "torch")
                except ImportError:
                    pass
            every: dict[str, list[tuple[float, float, float]]] = {name: [] for name in loops}
            for seed in range(given.rounds):
                for name, loop in loops.items():
                    make_cold(files)
                    every[name].append(loop(str(seed)))
            print(f"{order}, {given.size} bytes a row, best of {given.rounds} rounds (and each of them)")
            most = max(every["fio"])[0]
            for name, rounds in every.items():
                rate, cpu, device = max(rounds)
                each = " ".join(f"{one[0]:.0f}" for one in rounds)
                note = f"  {device:.0%} from the device" if name == "infeed" else ""
                print(f"  {name:18} {rate:6.0f} MB/s  {rate / most:5.2f} of fio  CPU {cpu:5.2f} s/GB  ({each}){note}")


if __name__ == "__main__":
    main()
