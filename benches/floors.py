"""Floors measured in the same run: bare libjpeg-turbo and plain copying, by the crate in `floor/`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import envs
import measure

HERE = Path(__file__).resolve().parent


def build() -> Path:
    """The floor program, compiled if necessary."""
    target = envs.cache() / "floor"
    command = [
        "nice",
        "cargo",
        "build",
        "--release",
        "--quiet",
        "--manifest-path",
        str(HERE / "floor" / "Cargo.toml"),
    ]
    subprocess.run(command, check=True, env={**os.environ, "CARGO_TARGET_DIR": str(target)})
    return target / "release" / "floor"


def run(program: Path, images: Path, threads: int) -> dict[str, float]:
    """Every floor once, on one thread and on `threads`, pinned like the loaders."""
    found = {}
    cpus = measure.pick_cpus(threads)
    for count in sorted({1, threads}):
        for name, arguments in (("jpeg", [str(images), str(count)]), ("memcpy", [str(count)])):
            done = subprocess.run(
                [str(program), name, *arguments],
                check=True,
                capture_output=True,
                text=True,
                preexec_fn=lambda: os.sched_setaffinity(0, cpus),
            )
            found[f"{name}_{count}"] = json.loads(done.stdout)["rate"]
    return found


def better(a: dict[str, float], b: dict[str, float]) -> dict[str, float]:
    """The best of two rounds, floor by floor."""
    return {key: max(a.get(key, 0.0), b.get(key, 0.0)) for key in {**a, **b}}
