"""Saved indices: used when they fit, ignored when they do not."""

from __future__ import annotations

import os
from pathlib import Path

import infeed


def write(folder: Path, rows: int, text: str = "x") -> Path:
    with infeed.ShardWriter(folder / "a-%d.tar") as out:
        for i in range(rows):
            out.write({"__key__": f"{i}", "txt": text})
    return folder / "a-0.tar"


def texts(path, **options) -> list[str]:
    return [t for b in infeed.tar(path, **options).decode(txt="text").batch(3).to_numpy() for t in b["txt"]]


def test_beside_the_shard(tmp_path):
    path = write(tmp_path, 7)
    assert texts(path, index="beside") == ["x"] * 7
    saved = Path(str(path) + ".infeed-index")
    assert saved.exists()
    # A shard that changed must not be read with the old offsets.
    write(tmp_path, 9, "longer text")
    assert texts(path, index="beside") == ["longer text"] * 9
    assert texts(path) == ["longer text"] * 9


def test_damaged_or_foreign_indices_are_ignored(tmp_path):
    path = write(tmp_path, 5)
    saved = Path(str(path) + ".infeed-index")
    texts(path, index="beside")
    good = saved.read_bytes()
    for bad in [b"", b"nonsense", good[:-3], good[:40] + bytes([good[40] ^ 1]) + good[41:]]:
        saved.write_bytes(bad)
        assert texts(path) == ["x"] * 5


def test_in_a_folder_and_off(tmp_path):
    path = write(tmp_path, 5)
    folder = tmp_path / "indices"
    texts(path, index=str(folder))
    assert len(os.listdir(folder)) == 1
    assert texts(path, index=str(folder)) == ["x"] * 5
    assert texts(path, index="off") == ["x"] * 5


def test_many_shards_share_a_file(tmp_path):
    with infeed.ShardWriter(tmp_path / "c-%03d.tar", maxcount=1) as out:
        for i in range(70):
            out.write({"__key__": f"{i}", "txt": f"{i}"})
    expected = [f"{i}" for i in range(70)]
    pattern, folder = str(tmp_path / "c-*.tar"), tmp_path / "indices"
    assert texts(pattern, index=str(folder)) == expected
    [saved] = folder.iterdir()
    assert saved.suffix == ".infeed-set"
    good = saved.read_bytes()
    for bad in [b"", b"nonsense", good[:-3], good[:40] + bytes([good[40] ^ 1]) + good[41:]]:
        saved.write_bytes(bad)
        assert texts(pattern, index=str(folder)) == expected
    assert saved.read_bytes() == good
    # One shard is changed and one is taken away.
    with infeed.ShardWriter(tmp_path / "c-%03d.tar", maxcount=1, start=3) as out:
        out.write({"__key__": "new", "txt": "another text"})
    expected[3] = "another text"
    assert texts(pattern, index=str(folder)) == expected
    (tmp_path / "c-069.tar").unlink()
    assert texts(pattern, index=str(folder)) == expected[:-1]


def test_the_writer_can_save_it(tmp_path):
    with infeed.ShardWriter(tmp_path / "b-%03d.tar", maxcount=2, index=True) as out:
        for i in range(4):
            out.write({"__key__": str(i), "txt": "t"})
    assert sorted(os.listdir(tmp_path))[:2] == ["b-000.tar", "b-000.tar.infeed-index"]
    assert infeed.open(tmp_path).rows() == 4


def test_a_read_only_place_is_no_error(tmp_path):
    path = write(tmp_path, 3)
    assert texts(path, index="/proc/infeed-cannot-write-here") == ["x"] * 3
