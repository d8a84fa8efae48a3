"""Caches of remote data: the same rows, fetched once, by one process of many, whatever happens to the folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from test_remote import OPENERS, data, digest, serve  # noqa: F401

import infeed

#: Reads an epoch in a process of its own and prints its rows and checksums.
READ = """
import sys, json
sys.path[:0] = json.loads(sys.argv[4])
from test_remote import digest
import infeed
rank, size = map(int, sys.argv[3].split("/"))
pipeline = infeed.tar(sys.argv[1], index=sys.argv[5]).with_cache(sys.argv[2]).shuffle(seed=9)
print(json.dumps(digest(pipeline, rank=rank, world_size=size)))
"""


def read(url: str, cache: Path | str, share: str, index: Path) -> subprocess.Popen:
    paths = json.dumps([str(Path(__file__).parent)])
    command = [sys.executable, "-c", READ, url, str(cache), share, paths, str(index)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("kind", OPENERS)
def test_a_cache_changes_nothing(moto, data, monkeypatch, tmp_path, proxied, kind):  # noqa: F811
    proxy = proxied(moto)
    root = serve(moto, data, monkeypatch, proxy)
    name, opened = OPENERS[kind]
    cached = opened(root + name).with_cache(tmp_path / "cache").shuffle(seed=3)
    plain = digest(opened(root + name).shuffle(seed=3))
    assert digest(cached) == plain
    # All of it is there now: another run asks what the object is, and fetches nothing of it.
    proxy.reset()
    again = opened(root + name).with_cache(tmp_path / "cache").shuffle(seed=3)
    assert digest(again) == plain
    size = sum(path.stat().st_size for path in data.glob(name.replace("{0..2}", "*")))
    assert proxy.stats()["bytes"] < 0.05 * size


def test_ranks_of_a_node_fetch_each_byte_once(moto, data, monkeypatch, tmp_path, proxied):  # noqa: F811
    proxy = proxied(moto)
    root = serve(moto, data, monkeypatch, proxy)
    url = root + "t-{0..2}.tar"
    len(infeed.tar(url, index=str(tmp_path / "index")))
    proxy.reset()
    ranks = [read(url, tmp_path / "cache", f"{rank}/4", tmp_path / "index") for rank in range(4)]
    rows = [tuple(row) for rank in ranks for row in json.loads(rank.communicate(timeout=120)[0])]
    size = sum(path.stat().st_size for path in data.glob("t-*.tar"))
    assert proxy.stats()["bytes"] <= 1.02 * size
    assert sorted(rows) == sorted(digest(infeed.tar(url, index=str(tmp_path / "index"))))
    checked = subprocess.run([sys.executable, "-m", "infeed", "cache", "verify", tmp_path / "cache"], timeout=60)
    assert checked.returncode == 0


def test_a_killed_process_blocks_nobody(moto, data, monkeypatch, tmp_path, proxied):  # noqa: F811
    proxy = proxied(moto, bandwidth=2_000_000)
    root = serve(moto, data, monkeypatch, proxy)
    url = root + "t-{0..2}.tar"
    len(infeed.tar(url, index=str(tmp_path / "index")))
    for _ in range(3):
        killed = read(url, tmp_path / "cache", "0/1", tmp_path / "index")
        with pytest.raises(subprocess.TimeoutExpired):
            killed.wait(0.7)
        killed.kill()
        killed.communicate()
    rows = read(url, tmp_path / "cache", "0/1", tmp_path / "index").communicate(timeout=120)[0]
    plain = digest(infeed.tar(url, index=str(tmp_path / "index")).shuffle(seed=9))
    assert [tuple(row) for row in json.loads(rows)] == plain


def test_folders_that_are_no_use(moto, data, monkeypatch, tmp_path):  # noqa: F811
    root = serve(moto, data, monkeypatch)
    plain = digest(infeed.open(root + "t-0.tar"))
    # Smaller than a chunk.
    assert digest(infeed.open(root + "t-0.tar", cache=tmp_path / "small", cache_limit="1MB")) == plain
    # Not a place to write to, for whoever runs this.
    (tmp_path / "file").write_text("")
    pipeline = infeed.open(root + "t-0.tar", cache="/proc/no-such-place")
    assert digest(pipeline) == plain
    with pytest.raises(ValueError, match="must be a folder, and is a file"):
        len(infeed.open(root + "t-0.tar", cache=tmp_path / "file"))
    with pytest.raises(ValueError, match="limit must be a number of bytes"):
        infeed.open(root + "t-0.tar", cache=tmp_path, cache_limit="much")
    with pytest.raises(ValueError, match="needs cache="):
        infeed.open(root + "t-0.tar", cache_limit="1GB")


def test_explain_tells_of_the_cache(moto, data, monkeypatch, tmp_path):  # noqa: F811
    root = serve(moto, data, monkeypatch)
    text = infeed.open(root + "t-0.tar", cache=tmp_path / "cache", cache_limit="1GB").explain()
    assert "cached  cache in" in text and "as given" in text
