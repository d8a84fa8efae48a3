"""How infeed's train work scales with threads on this machine. Needs infeed, NumPy and a data folder.

    python benches/scale.py DATA [--threads 1,2,4,8,16] [--seconds 4] [--rounds 3]

DATA is a folder made by data.py (or by run.py, which prints where it keeps it). Each measurement runs
in a process of its own, pinned to as many processors as it has threads; counts take turns in a round.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def rate(data: Path, threads: int, seconds: float, work: str) -> float:
    """Samples per second of one run."""
    command = [sys.executable, str(HERE / "worker.py"), "infeed", "--work", work, "--data", str(data)]
    command += ["--threads", str(threads), "--seconds", str(seconds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(json.loads(done.stdout.strip().splitlines()[-1])["rate"])


def main() -> None:
    """Measure and print one Markdown table and one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--threads", default="1,2,4,8,16")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", default="train")
    args = parser.parse_args()
    counts = [int(x) for x in args.threads.split(",") if int(x) <= len(os.sched_getaffinity(0))]
    best = dict.fromkeys(counts, 0.0)
    for _ in range(args.rounds):
        for count in counts:
            best[count] = max(best[count], rate(args.data, count, args.seconds, args.work))
    one = best[counts[0]] / counts[0]
    print(f"| threads | {args.work}, samples/s | speed-up | per thread |")
    print("|---:|---:|---:|---:|")
    for count, value in best.items():
        print(f"| {count} | {value:,.0f} | {value / one:.2f} | {value / one / count:.0%} |")
    print(json.dumps({"work": args.work, "rates": best, "cpus": len(os.sched_getaffinity(0))}))


if __name__ == "__main__":
    main()
