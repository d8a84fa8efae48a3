"""Forks, exits and interrupts by the thousand: no child may hang.

    python scripts/campaign.py forks --count 10000
    python scripts/campaign.py exits --count 10000
    python scripts/campaign.py interrupts --count 1000

Every child has a time limit far above what it needs. A child that reaches it has hung, and the command fails.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import infeed

LIMIT = 60
"""Seconds that a child has."""
SOON = 2
"""Seconds within which Ctrl-C must end a loop."""


def make_data(folder: Path) -> None:
    """A tar of texts and a Parquet file."""
    with infeed.ShardWriter(folder / "t-%d.tar", maxcount=1000) as out:
        for i in range(1000):
            out.write({"__key__": f"{i:05}", "txt": f"{i:05}" * 600})
    np.arange(2_000_000, dtype="u2").tofile(folder / "t.bin")


def pipelines(folder: Path) -> dict[str, infeed.Pipeline]:
    """One of each kind: rows that are read, a source that writes batches, Python functions."""
    tar = infeed.tar(str(folder / "t-*.tar"), index="off").shuffle(seed=1)
    return {
        "tar": tar.batch(8),
        "tokens": infeed.tokens(str(folder / "t.bin"), 256).shuffle(seed=1).batch(8),
        "functions": tar.map(lambda sample: sample).batch(8),
    }


def forks(folder: Path, count: int, rng: random.Random) -> int:
    """Forks while two threads consume; children use a loader or none, and leave in different ways."""
    loaders = {name: pipe.to_numpy(threads=2, endless=True) for name, pipe in pipelines(folder).items()}
    over = threading.Event()

    def consume(loader: infeed.Loader) -> None:
        for _ in loader:
            if over.is_set():
                return

    threads = [threading.Thread(target=consume, args=(loader,), daemon=True) for loader in loaders.values()]
    for thread in threads:
        thread.start()
    failed = 0
    for n in range(count):
        time.sleep(rng.random() * 0.003)
        pid = os.fork()
        if pid == 0:
            signal.alarm(LIMIT)
            code = 0
            try:
                if n % 4:
                    code = 0 if len(next(iter(list(loaders.values())[n % 4 - 1]))) else 3
            except BaseException:
                code = 4
            if n % 2:
                os._exit(code)
            sys.exit(code)
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code:
            failed += 1
            print(f"child {n}: {'hung' if code == -signal.SIGALRM else f'code {code}'}", flush=True)
        if n % 1000 == 999:
            print(f"{n + 1} forks, {failed} failed", flush=True)
    over.set()
    return failed


CHILD = """
import signal, sys
signal.alarm({limit})
sys.path.insert(0, {scripts!r})
from campaign import pipelines
from pathlib import Path
loaders = [(name, pipe.to_numpy(threads=2)) for name, pipe in pipelines(Path({folder!r})).items()]
print("go", flush=True)
"""


def exits(folder: Path, count: int, rng: random.Random) -> int:
    """Processes that end in the middle of an epoch: by sys.exit, with and without the loader, or by an exception."""
    failed = 0
    data = pipelines(folder)
    for n in range(count):
        pid = os.fork()
        if pid == 0:
            signal.alarm(LIMIT)
            name = list(data)[n % len(data)]
            loader = data[name].to_numpy(threads=2)
            batches = iter(loader)
            for _ in range(n % 4):
                next(batches)
            if n % 3 == 0:
                sys.exit(0)
            if n % 3 == 1:
                del loader
                sys.exit(0)
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115  the process ends here
            raise RuntimeError("an error of the training loop")
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code != (1 if n % 3 == 2 else 0):
            failed += 1
            print(f"child {n}: {'hung' if code == -signal.SIGALRM else f'code {code}'}", flush=True)
        if n % 1000 == 999:
            print(f"{n + 1} exits, {failed} failed", flush=True)
    return failed


def interrupts(folder: Path, count: int, rng: random.Random) -> int:
    """Ctrl-C at a random moment of a loop over batches, many times in each of a few processes."""
    body = (
        CHILD
        + """
import os, random, threading, time
rng = random.Random({seed})
done, longest, sent = 0, 0.0, 0.0
def press():
    global sent
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
for n in range({rounds}):
    name, loader = loaders[n % len(loaders)]
    timer = threading.Timer(rng.random() * 0.05, press)
    try:
        timer.start()
        while True:
            for batch in loader:
                pass
    except KeyboardInterrupt:
        done += 1
        longest = max(longest, time.monotonic() - sent)
    timer.join()
    signal.alarm({limit})
print(longest, done, flush=True)
"""
    )
    failed, each, longest = 0, 100, 0.0
    for n in range(0, count, each):
        rounds = min(each, count - n)
        code = body.format(
            limit=LIMIT, scripts=str(Path(__file__).parent), folder=str(folder), seed=rng.random(), rounds=rounds
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        ended = int(done.stdout.split()[-1]) if done.returncode == 0 else 0
        if ended:
            longest = max(longest, float(done.stdout.split()[-2]))
        if ended != rounds:
            failed += rounds - ended
            print(f"round {n}: {ended} of {rounds} ended, code {done.returncode}: {done.stderr[-500:]}", flush=True)
    print(f"longest time until a loop ended: {longest:.3f} s")
    return failed + (longest > SOON)


def main() -> int:
    """Run a campaign."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["forks", "exits", "interrupts"])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    make_data(folder)
    run = {"forks": forks, "exits": exits, "interrupts": interrupts}[args.what]
    start = time.monotonic()
    failed = run(folder, args.count, random.Random(args.seed))
    # Not by a context manager: children that leave by sys.exit would remove it.
    shutil.rmtree(folder)
    print(f"{args.count} {args.what}, {failed} failed, {time.monotonic() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)
