"""Data that is not in memory: the same rows, the statistics say so, and a file that is cut short is named."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest

import infeed

ROWS, SIZE = 240, 50_000


@pytest.fixture
def shards(tmp_path: Path) -> str:
    """Three tars of rows that begin with their number."""
    filler = np.random.default_rng(0).bytes(SIZE)
    for shard in range(3):
        with tarfile.open(tmp_path / f"t-{shard}.tar", "w") as out:
            for row in range(shard * ROWS // 3, (shard + 1) * ROWS // 3):
                member = tarfile.TarInfo(f"{row:04}.bin")
                member.size = SIZE
                out.addfile(member, io.BytesIO(b"%04d" % row + filler[4:]))
    return str(tmp_path / "t-{0..2}.tar")


def make_cold(folder: Path) -> bool:
    """Takes the tars out of memory. Returns whether that worked, which not every file system allows."""
    gone = True
    for path in folder.glob("*.tar"):
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        try:
            os.preadv(file, [bytearray(1)], path.stat().st_size // 2, os.RWF_NOWAIT)
            gone = False
        except BlockingIOError:
            pass
        except OSError:
            gone = False
        # Kernels read what they are asked for, with what is behind it.
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)
    return gone


def rows(loader: infeed.Loader) -> list[bytes]:
    return [bytes(row) for batch in loader for row in batch["bin"]]


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("batch", [1, 7, 64])
def test_the_same_rows_cold_and_warm(shards, tmp_path, shuffled, batch):
    def loader(**options: object) -> infeed.Loader:
        data = infeed.open(shards)
        if shuffled:
            data = data.shuffle(seed=3, kind="global")
        return data.batch(batch).to_numpy(persistent=False, **options)

    rows(loader())
    warm = rows(loader())
    assert sorted(int(row[:4]) for row in warm) == list(range(ROWS))
    for options in ({}, {"io_threads": 16}, {"threads": 1, "io_threads": 1}):
        cold = loader(**options)
        gone = make_cold(tmp_path)
        assert rows(cold) == warm
        share = cold.stats()["device_share"]
        assert 0 <= share <= 1
        if gone:
            assert share > 0
            assert "of the bytes were not in memory" in str(cold.stats())
    assert cold.stats()["network"] is None


def test_a_file_that_is_cut_short_under_way_is_named(shards, tmp_path):
    make_cold(tmp_path)
    loader = infeed.open(shards).shuffle(seed=1, kind="global").batch(4).to_numpy(prefetch=1, memory="2MB")
    batches = iter(loader)
    next(batches)
    os.truncate(tmp_path / "t-1.tar", 10_000)
    with pytest.raises(infeed.UnreadableError, match=r"t-1\.tar"):
        for _ in batches:
            pass
