"""Caches on disks that are full or read-only, or whose processes are killed: the epoch is exact, and nothing is left."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_remote import data, digest, serve  # noqa: F401

import infeed

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

from chaosing import after

URL = "t-{0..2}.tar"


@contextlib.contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A file system in memory; skips the test where it cannot be had."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("mounting a file system needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def sound(cache: Path) -> bool:
    code, _ = after.command("cache", "verify", cache)
    return code == 0 and not after.locked(cache) and not after.drafts(cache)


def test_a_disk_that_is_full(moto, data, monkeypatch, tmp_path):  # noqa: F811
    root = serve(moto, data, monkeypatch)
    plain = digest(infeed.tar(root + URL).shuffle(seed=5))
    # Room for one chunk of three and a bit, although the limit says that there is room for all.
    with mounted(tmp_path / "disk", "size=2m") as disk:
        for _ in range(2):
            pipeline = infeed.tar(root + URL, index="off").with_cache(disk / "cache", limit="1GB").shuffle(seed=5)
            assert digest(pipeline) == plain
            assert sound(disk / "cache")
        # Nothing at all is free: not even the folder can be made.
        (disk / "filler").write_bytes(b"")
        with contextlib.suppress(OSError), (disk / "filler").open("ab") as file:
            while True:
                file.write(bytes(1 << 12))
        other = infeed.tar(root + URL, index="off").with_cache(disk / "other").shuffle(seed=5)
        assert digest(other) == plain


def test_a_disk_that_fills_up_says_so(moto, data, monkeypatch, tmp_path):  # noqa: F811
    root = serve(moto, data, monkeypatch)
    with mounted(tmp_path / "disk", "size=2m") as disk:
        pipeline = infeed.tar(root + URL, index="off").with_cache(disk / "cache", limit="1GB")
        text = pipeline.explain()
        assert "cache in" in text
        assert len(digest(pipeline)) == 180


def test_a_disk_that_is_read_only(moto, data, monkeypatch, tmp_path, proxied):  # noqa: F811
    proxy = proxied(moto)
    root = serve(moto, data, monkeypatch, proxy)
    plain = digest(infeed.tar(root + URL).shuffle(seed=5))
    with mounted(tmp_path / "disk", "size=64m") as disk:
        cached = infeed.tar(root + "t-0.tar", index="off").with_cache(disk / "cache")
        one = digest(cached)
        # Chunks are written while rows are handed out, and the last one may be on its way.
        whole, written = (data / "t-0.tar").stat().st_size, 0
        for _ in range(400):
            written = sum(file.stat().st_size for file in disk.rglob("*") if file.is_file())
            if written >= whole:
                break
            time.sleep(0.05)
        assert written >= whole
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        # What is there is used, and what is not comes from the store.
        proxy.settle()
        assert digest(infeed.tar(root + "t-0.tar").with_cache(disk / "cache")) == one
        assert proxy.stats()["bytes"] < (data / "t-0.tar").stat().st_size / 4
        assert digest(infeed.tar(root + URL).with_cache(disk / "cache").shuffle(seed=5)) == plain
        text = infeed.tar(root + URL).with_cache(disk / "cache").explain()
        assert "is not written to any more" in text and "Read-only file system" in text


READ = """
import json, os, sys, time
sys.path[:0] = json.loads(sys.argv[4])
from test_remote import digest
import infeed
rank, size = map(int, sys.argv[3].split("/"))
pipeline = infeed.tar(sys.argv[1], index=sys.argv[5]).with_cache(sys.argv[2]).shuffle(seed=9).batch(global_size=8)
rows = []
for batch in pipeline.to_numpy(rank=rank, world_size=size):
    rows += batch["__row__"].tolist()
    print("step", flush=True)
    time.sleep(0.02)
print(json.dumps(rows))
"""


def test_two_of_four_processes_are_killed(moto, data, monkeypatch, tmp_path, proxied):  # noqa: F811
    """The two that live end with exactly their rows; a cache that was never left in order is in order afterwards."""
    proxy = proxied(moto, bandwidth=6_000_000)
    root = serve(moto, data, monkeypatch, proxy)
    url, index, cache = root + URL, tmp_path / "index", tmp_path / "cache"
    pipeline = infeed.tar(url, index=str(index)).shuffle(seed=9).batch(global_size=8)
    shares = [
        [row for batch in pipeline.to_numpy(rank=rank, world_size=4) for row in batch["__row__"].tolist()]
        for rank in range(4)
    ]
    assert sorted(row for share in shares for row in share) == list(range(180))
    paths = json.dumps([str(Path(__file__).parent)])
    command = [sys.executable, "-c", READ, url, str(cache)]
    processes = [
        subprocess.Popen([*command, f"{rank}/4", paths, str(index)], stdout=subprocess.PIPE, text=True)
        for rank in range(4)
    ]
    try:
        for rank in (1, 2):
            # One in its first steps, one a little later: both while chunks are fetched.
            assert processes[rank].stdout is not None
            for _ in range(rank):
                assert processes[rank].stdout.readline() == "step\n"
            processes[rank].kill()
        for rank in (0, 3):
            out, _ = processes[rank].communicate(timeout=120)
            assert processes[rank].returncode == 0
            assert json.loads(out.splitlines()[-1]) == shares[rank]
        assert [processes[rank].wait() for rank in (1, 2)] == [-9, -9]
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert not after.locked(cache)
    code, told = after.command("cache", "verify", cache)
    assert code == 0, told
    # The next one that is alone with it clears away what the killed ones left.
    last = subprocess.run([*command, "0/1", paths, str(index)], stdout=subprocess.PIPE, text=True, timeout=120)
    assert sorted(json.loads(last.stdout.splitlines()[-1])) == list(range(180))
    assert sound(cache)
