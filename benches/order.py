"""What orders cost: every measurement of the order stage, one after the other.

    python benches/order.py [DATA] [--shards 100000]

Builds the release examples of the crates with cargo, and runs

    order_cost        ns per row of every order, and the seek into 10^12 rows
    shuffle_quality   how well each kind of shuffle mixes, what it costs, and the seek with 10^5 shards
    blend.py          the blend arrays against C++ (and Megatron's helper where it is installed)
    open_shards       opening 10^5 shards with and without a saved index, and memory per shard
    resume.py         the first batch from the middle of an epoch (only with DATA, see there)
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run(title: str, command: list[str]) -> None:
    """Run one and show what it prints."""
    print(f"\n## {title}\n", flush=True)
    subprocess.run(command, check=True, cwd=HERE.parent)


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--shards", type=int, default=100_000)
    args = parser.parse_args()
    cargo = ["cargo", "build", "--release", "-q"]
    subprocess.run([*cargo, "-p", "infeed-order", "--examples"], check=True, cwd=HERE.parent)
    subprocess.run([*cargo, "-p", "infeed", "--example", "open_shards"], check=True, cwd=HERE.parent)
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target")) / "release" / "examples"
    run("Cost of orders", [str(target / "order_cost")])
    run("Shuffles", [str(target / "shuffle_quality")])
    run("Blend", [sys.executable, str(HERE / "blend.py"), "--binary", str(target / "blend_indices")])
    run(f"Opening {args.shards:,} shards", [str(target / "open_shards"), str(args.shards)])
    if args.data is not None:
        run("Resuming", [sys.executable, str(HERE / "resume.py"), str(args.data)])


if __name__ == "__main__":
    main()
