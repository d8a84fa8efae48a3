"""The system runs out of memory: an error or a complete result, never a dead process, whichever allocation fails.

One allocation of infeed's library fails per run, under every format and decoder. `make allocations` lets each of the
first 10,000 fail, one after the other.
"""

from __future__ import annotations

import ctypes
import gzip
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import format_boxes  # noqa: F401  its cases are in the list, too
import format_images  # noqa: F401  its cases are in the list, too
import format_rows  # noqa: F401  its cases are in the list, too
import numpy as np
import pytest
from format_cases import CASES
from PIL import Image
from test_contract_formats import plain

import infeed
from infeed import transforms as T

HERE = Path(__file__).parent
#: How many allocations are failed for each pipeline, spread over its run; 0: all of the first 10,000.
TRIES = int(os.environ.get("INFEED_ALLOCATIONS", "12"))


def write_tar(folder: Path, ending: str, rows: list[bytes]) -> Path:
    with infeed.ShardWriter(folder / "t-%d.tar", maxcount=1000) as out:
        for i, row in enumerate(rows):
            out.write({"__key__": f"{i:03}", ending: row})
    return folder / "t-0.tar"


def images(folder: Path, ending: str, **options: Any) -> infeed.Pipeline:
    rows = []
    for i in range(6):
        out = io.BytesIO()
        pixels = np.random.default_rng(i).integers(0, 255, (40, 50, 3), np.uint8)
        Image.fromarray(pixels).save(out, {"jpg": "jpeg", "tif": "tiff"}.get(ending, ending), **options)
        rows.append(out.getvalue())
    path = write_tar(folder, ending, rows)
    return infeed.tar(str(path)).decode(**{ending: "rgb"}).map(T.RandomResizedCrop(24), on=ending)


def npy(folder: Path) -> infeed.Pipeline:
    rows = []
    for i in range(6):
        out = io.BytesIO()
        np.save(out, np.full((8, 1 + i), i, np.float32))
        rows.append(out.getvalue())
    return infeed.tar(str(write_tar(folder, "npy", rows))).decode(npy="npy")


def stream(folder: Path) -> infeed.Pipeline:
    path = write_tar(folder, "txt", [b"%d" % i * 300 for i in range(20)])
    packed = folder / "t.tar.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return infeed.open(str(packed)).shuffle(seed=1, buffer=8)


PIPELINES: dict[str, Any] = {case.name: lambda folder, case=case: case.make(folder).pipeline for case in CASES}
PIPELINES |= {
    "tar": lambda folder: infeed.tar(str(write_tar(folder, "txt", [b"%d" % i * 300 for i in range(20)]))),
    "tar.gz stream": stream,
    "npy": npy,
    "jpeg": lambda folder: images(folder, "jpg"),
    "progressive jpeg": lambda folder: images(folder, "jpg", progressive=True),
    "png": lambda folder: images(folder, "png"),
    "webp": lambda folder: images(folder, "webp"),
    "gif": lambda folder: images(folder, "gif"),
    "tiff": lambda folder: images(folder, "tif"),
    "bmp": lambda folder: images(folder, "bmp"),
}


def library() -> tuple[int, int]:
    """Where the code of infeed's library lies."""
    parts = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if "_core.abi3" in line]
    ends = [[int(end, 16) for end in part[0].split("-")] for part in parts if "x" in part[1]]
    return ends[0][0], ends[-1][1]


def content(pipeline: infeed.Pipeline) -> list[Any]:
    """All of an epoch, as text."""
    batches = list(pipeline.batch(4).to_numpy(threads=1, persistent=False))
    return [{name: [str(plain(cell)) for cell in column] for name, column in batch.items()} for batch in batches]


def child(name: str, folder: str, begin: int) -> None:
    """Fails one allocation after the other. Says what came of each before it tries the next."""
    fault = ctypes.CDLL(None)
    fault.infeed_asked.restype = ctypes.c_long
    fault.infeed_watch(*map(ctypes.c_size_t, library()))
    recipe = PIPELINES[name](Path(folder)).recipe
    want = content(infeed.Pipeline(recipe))
    fault.infeed_fail(ctypes.c_long(0))
    assert content(infeed.Pipeline(recipe)) == want
    count = fault.infeed_asked()
    last = min(count, 10_000)
    tries = range(1, last + 1) if TRIES == 0 else sorted({int(last ** (k / TRIES)) for k in range(1, TRIES + 1)})
    for n in tries:
        if n < begin:
            continue
        print(n, end=" ", flush=True)
        fault.infeed_fail(ctypes.c_long(n))
        try:
            found = content(infeed.Pipeline(recipe))
        except Exception as error:
            fault.infeed_fail(ctypes.c_long(0))
            print("error", type(error).__name__, str(error).replace("\n", " ")[:200], flush=True)
            continue
        fault.infeed_fail(ctypes.c_long(0))
        print("same" if found == want else "wrong", flush=True)
    print("all", flush=True)


@pytest.fixture(scope="session")
def failing(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = tmp_path_factory.mktemp("native") / "allocations.so"
    source = HERE / "native" / "allocations.c"
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-shared", "-fPIC", "-o", made, source], check=True)
    return str(made)


@pytest.mark.skipif(sys.platform != "linux", reason="needs LD_PRELOAD")
@pytest.mark.parametrize("name", PIPELINES)
def test_no_allocation_ends_the_process(name: str, tmp_path: Path, failing: str) -> None:
    outcomes: dict[str, int] = {"error": 0, "same": 0, "in spawn": 0}
    deaths, begin, rounds = [], 0, 0
    while True:
        folder = tmp_path / str(begin)
        folder.mkdir()
        command = [sys.executable, "-c", f"import test_allocations as t; t.child({name!r}, {str(folder)!r}, {begin})"]
        env = {**os.environ, "LD_PRELOAD": failing, "RUST_BACKTRACE": "1"}
        done = subprocess.run(command, cwd=HERE, env=env, capture_output=True, text=True, timeout=3600)
        lines = done.stdout.splitlines()
        for line in lines:
            words = line.split()
            if len(words) > 1:
                assert words[1] in outcomes, f"allocation {words[0]}: {line}"
                outcomes[words[1]] += 1
        if lines and lines[-1] == "all":
            break
        assert lines and done.returncode < 0, (done.returncode, done.stdout[-500:], done.stderr[-2000:])
        at, rounds = int(lines[-1].split()[0]), rounds + 1
        if "allocation of 48 bytes" in done.stderr and re.search(r"spawn|std::thread::", done.stderr[:1000]):
            # Rust's library takes a few bytes for a new thread from the system itself, and ends the process without them.
            outcomes["in spawn"] += 1
        else:
            deaths.append((at, done.returncode, done.stderr[:1000]))
        begin = at + 1
        assert rounds < 40, deaths
    print(f"{name}: {outcomes}, {len(deaths)} deaths")
    assert not deaths, deaths
    assert outcomes["error"] > 0
