"""Virtual environments for the peers, made on demand and kept.

Peers whose requirements agree share one environment. Where they do not, an environment may `extend`
another: it sees the packages of its base (so that torch is installed once) and its own ones first.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Env:
    """One environment."""

    name: str
    requirements: tuple[str, ...]
    extends: str | None = None
    #: Debian packages it needs, as (command that succeeds when it is there, package).
    system: tuple[tuple[str, str], ...] = ()


ENVS: dict[str, Env] = {
    e.name: e
    for e in (
        Env("tools", ("pillow", "numpy")),
        Env(
            "torch",
            (
                "torch",
                "torchvision",
                "numpy",
                "pillow",
                "opencv-python-headless",
                "webdataset",
                "datasets",
                "litdata",
                "grain",
                "datago",
            ),
        ),
        # Loads the system's FFmpeg libraries when it is first used.
        Env("spdl", ("spdl",), extends="torch", system=(("ffmpeg -version", "ffmpeg"),)),
        # Wants an older hub client than `datasets` does.
        Env("streaming", ("mosaicml-streaming",), extends="torch"),
        # Loaders that read from S3.
        Env("remote", ("s3torchconnector", "s3fs", "boto3", "pyarrow"), extends="torch"),
        Env("corpora", ("tokenizers", "zstandard", "polars"), extends="torch"),
        Env("tensorflow", ("tensorflow-cpu", "numpy")),
        # The CUDA build runs its CPU operators without a GPU.
        Env("dali", ("nvidia-dali-cuda120", "numpy")),
        # Compiled on installation against the system's OpenCV and libjpeg-turbo.
        Env(
            "ffcv",
            ("ffcv",),
            extends="torch",
            system=(
                ("pkg-config --exists opencv4", "libopencv-dev"),
                ("pkg-config --exists libturbojpeg", "libturbojpeg0-dev"),
            ),
        ),
    )
}


class NotInstalled(Exception):
    """An environment could not be made; the message is one line saying why."""


def cache() -> Path:
    """Where environments and data are kept."""
    root = os.environ.get("INFEED_CACHE") or Path.home() / ".cache" / "infeed"
    return Path(root).expanduser() / "bench"


def stamp(env: Env) -> str:
    """A stamp that changes whenever the environment has to be created again."""
    base = stamp(ENVS[env.extends]) if env.extends else ""
    text = "\n".join((sys.version.split()[0], base, *env.requirements))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def ensure(name: str, *, install: bool = True) -> Path:
    """The interpreter of an environment, created if necessary."""
    env = ENVS[name]
    root = cache() / name
    python = root / "bin" / "python"
    note = root / "stamp"
    if note.exists() and note.read_text() == stamp(env):
        return python
    if not install:
        raise NotInstalled("not made yet, and --no-install was given")
    failed = root.with_name(name + ".failed")
    base = ensure(env.extends) if env.extends else None
    try:
        system_packages(env)
        shutil.rmtree(root, ignore_errors=True)
        print(f"# making environment {name}: {' '.join(env.requirements)}", file=sys.stderr, flush=True)
        call([sys.executable, "-m", "venv", str(root)], failed)
        if base:
            (site(python) / "base.pth").write_text(f"{site(base)}\n")
        call([str(python), "-m", "pip", "install", "--quiet", "--upgrade", "pip"], failed)
        call([str(python), "-m", "pip", "install", "--quiet", *env.requirements], failed)
    except subprocess.CalledProcessError as error:
        raise NotInstalled(f"{' '.join(error.cmd[1:5])} failed, see {failed}: {last_error(failed)}") from error
    failed.unlink(missing_ok=True)
    note.write_text(stamp(env))
    return python


def call(command: list[str], log: Path) -> None:
    """Run a command at low priority, its output in a file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as out:
        subprocess.run(["nice", *command], check=True, stdout=out, stderr=subprocess.STDOUT)


def site(python: Path) -> Path:
    """The site-packages folder of an environment's interpreter."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(subprocess.check_output([str(python), "-c", code], text=True).strip())


def system_packages(env: Env) -> None:
    """Install missing system packages if permitted; otherwise report what is missing."""
    missing = [package for probe, package in env.system if not succeeds(probe.split())]
    if not missing:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise NotInstalled(f"needs the system packages {', '.join(missing)}")
    log = cache() / "apt.log"
    try:
        call(["apt-get", "update"], log)
        call(["apt-get", "install", "-y", "--no-install-recommends", "pkg-config", "g++", *missing], log)
    except subprocess.CalledProcessError as error:
        raise NotInstalled(f"apt-get could not install {', '.join(missing)}, see {log}") from error


def succeeds(command: list[str]) -> bool:
    """Whether a command exists and exits with 0."""
    if not shutil.which(command[0]):
        return False
    quiet = subprocess.DEVNULL
    return subprocess.run(command, stdout=quiet, stderr=quiet).returncode == 0


def last_error(log: Path) -> str:
    """The line of a log that most likely says what went wrong."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or ["no output"])[-1][:160]


if __name__ == "__main__":
    for wanted in sys.argv[1:] or ENVS:
        try:
            print(wanted, ensure(wanted))
        except NotInstalled as why:
            print(wanted, "not installed:", why)
