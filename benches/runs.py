"""Starting the processes that do the work, and finding the photographs."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import envs
from peers import Peer

HERE = Path(__file__).resolve().parent


class Failed(Exception):
    """A run gave no result; the message is one line saying why."""


def call(command: list[str], timeout: float) -> dict[str, object]:
    """Run a command in a process group of its own; the JSON line it ends with, {} if there is none."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Failed(f"no result after {timeout:.0f} s") from None
    finally:
        end(process)  # also when this program is interrupted: the group would live on otherwise
    if process.returncode != 0:
        lines = [line for line in err.splitlines() if line.strip()]
        raise Failed((lines or [f"exit status {process.returncode}"])[-1][:300])
    found = [line for line in out.splitlines() if line.startswith("{")]
    return json.loads(found[-1]) if found else {}


def end(process: subprocess.Popen[str]) -> None:
    """End workers that outlived their parent, so that they do not disturb the next run."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def worker(
    python: Path,
    peer: Peer,
    work: str,
    data: Path,
    *,
    timeout: float,
    threads: int = 2,
    seconds: float = 4.0,
    repeat: int = 1,
    prepare: bool = False,
) -> dict[str, object]:
    """Run worker.py in a peer's interpreter."""
    command = [str(python), str(HERE / "worker.py"), peer.name, "--work", work, "--data", str(data)]
    if prepare:
        return call([*command, "--prepare"], timeout)
    command += ["--threads", str(threads), "--seconds", str(seconds), "--repeat", str(repeat)]
    line = call(command, timeout)
    if not line:
        raise Failed("no result was printed")
    return line


def find_images(chosen: Path | None) -> Path | None:
    """The photographs: named, from INFEED_BENCH_IMAGES, or beside the checkout; None: make some up."""
    named = chosen or (Path(os.environ["INFEED_BENCH_IMAGES"]) if "INFEED_BENCH_IMAGES" in os.environ else None)
    if named:
        if not named.is_dir():
            raise SystemExit(f"{named} is not a folder")
        return named.resolve()
    beside = HERE.parents[1]
    for folder in (beside / "images", *sorted(beside.glob("*/images"))):
        if any(p.suffix.lower() in (".jpg", ".jpeg") for p in folder.glob("*")):
            return folder
    return None


def prepare_data(chosen: Path | None, *, install: bool) -> Path:
    """Create the data from the photographs unless it exists; it is cached by its input."""
    images = find_images(chosen)
    listing = "synthetic"
    if images:
        listing = "\n".join(f"{p.name} {p.stat().st_size}" for p in sorted(images.iterdir()))
    else:
        print("# no folder of photographs found: making some up (see --images)", file=sys.stderr)
    out = envs.cache() / "data" / hashlib.sha256(listing.encode()).hexdigest()[:12]
    if not (out / "meta.json").exists():
        try:
            python = envs.ensure("tools", install=install)
        except envs.NotInstalled as why:
            raise SystemExit(f"the data cannot be made without the environment `tools`: {why}") from why
        try:
            call(["nice", str(python), str(HERE / "data.py"), str(images or ""), str(out)], 1800)
        except Failed as why:
            raise SystemExit(f"making the data failed: {why}") from why
    return out
