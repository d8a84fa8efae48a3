"""Where the programs of servers come from: the system, or a cache folder that is filled on first use."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
AZURITE = "3.37.0"


class Unavailable(Exception):
    """A server that cannot be had on this machine, with the reason."""


def cache() -> Path:
    """The folder of installed servers. Not that of ``INFEED_CACHE``, which every test sets."""
    folder = Path(os.environ.get("INFEED_SERVERS") or Path.home() / ".cache" / "infeed" / "servers")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def program(name: str) -> str:
    """A program of the system."""
    # nginx is not in the path of users.
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin:/opt/homebrew/bin")
    if found is None:
        raise Unavailable(f"{name} is not installed")
    return found


def python() -> str:
    """The interpreter of the environment with moto and the emulator of Google's storage."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    known = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]
    folder = cache() / f"python{version}-{known}"
    own = str(folder / "bin" / "python")
    with _made_once(folder) as missing:
        if missing:
            _run([sys.executable, "-m", "venv", str(folder)])
            _run([own, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", str(REQUIREMENTS)])
    return own


def azurite() -> list[str]:
    """The command that runs azurite's blob service."""
    node, npm = program("node"), program("npm")
    folder = cache() / f"azurite-{AZURITE}"
    with _made_once(folder) as missing:
        if missing:
            _run([npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), f"azurite@{AZURITE}"])
    return [node, str(folder / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js")]


def s3s_fs() -> str:
    """The program s3s-fs, which takes many minutes to build and so is never built here."""
    given = os.environ.get("INFEED_S3S_FS")
    found = Path(given) if given else cache() / "s3s" / "bin" / "s3s-fs"
    if not found.is_file():
        how = f"cargo install --locked --version 0.14.1 --features binary s3s-fs --root {cache() / 's3s'}"
        raise Unavailable(f"s3s-fs is not at {found}: {how}")
    return str(found)


@contextlib.contextmanager
def _made_once(folder: Path) -> Iterator[bool]:
    """Whether a folder must be filled. Other processes wait meanwhile; a folder that was not finished is made anew."""
    stamp = folder / ".complete"
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = not stamp.exists()
        if missing:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        yield missing
        stamp.touch()


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"{' '.join(command[:4])} took longer than 10 minutes") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no message"]
        raise Unavailable(f"{' '.join(command[:4])} failed: {said[0]}")
