"""Caches of remote data: the same rows, fetched once, by one process of many, whatever happens to the folder."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from belady import CHUNK_FILE, bounds, write_shards
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
    proxy.settle()
    again = opened(root + name).with_cache(tmp_path / "cache").shuffle(seed=3)
    assert digest(again) == plain
    size = sum(path.stat().st_size for path in data.glob(name.replace("{0..2}", "*")))
    assert proxy.stats()["bytes"] < 0.05 * size


def test_ranks_of_a_node_fetch_each_byte_once(moto, data, monkeypatch, tmp_path, proxied):  # noqa: F811
    proxy = proxied(moto)
    root = serve(moto, data, monkeypatch, proxy)
    url = root + "t-{0..2}.tar"
    len(infeed.tar(url, index=str(tmp_path / "index")))
    proxy.settle()
    ranks = [read(url, tmp_path / "cache", f"{rank}/4", tmp_path / "index") for rank in range(4)]
    rows = [tuple(row) for rank in ranks for row in json.loads(rank.communicate(timeout=120)[0])]
    size = sum(path.stat().st_size for path in data.glob("t-*.tar"))
    # A request that was late, or whose process ended, may be sent twice: one chunk more, where each rank for itself would
    # fetch all of them.
    largest = max(path.stat().st_size for path in data.glob("t-*.tar"))
    assert proxy.stats()["bytes"] <= 1.02 * size + largest
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


@pytest.fixture(scope="module")
def shards(nginx) -> tuple[list[tuple[int, int, int]], list[int]]:
    """Two shards of about four chunks each: where each row lies, and their sizes."""
    folder = Path(nginx.folder, "root", nginx.bucket)
    random = np.random.default_rng(3)
    places = write_shards(folder, 2, [("bin", random.bytes(60_000)) for _ in range(540)])
    return places, [(folder / f"t-{shard}.tar").stat().st_size for shard in range(2)]


def opened_once(url: str, folder: Path) -> infeed.Pipeline:
    """Tars of which nothing is asked for twice, however late it is: these tests count bytes."""
    return infeed.tar(url, index=str(folder / "index")).with_store(hedge=False)


def counted_alone(pipeline: infeed.Pipeline):
    """A loader whose epochs fetch nothing for the next one: what they fetch can be told apart."""
    return pipeline.batch(16).to_numpy(persistent=False)


def rows_of(loader) -> list[int]:
    return [int(bytes(row)) for batch in loader for row in batch["cls"]]


@pytest.mark.parametrize("kind", ["block", "global"])
@pytest.mark.parametrize("chunks", [2, 4])
def test_a_cache_of_part_of_the_data_fetches_no_more_than_the_best(nginx, shards, proxied, tmp_path, kind, chunks):
    places, sizes = shards
    proxy, limit = proxied(nginx), chunks * CHUNK_FILE
    source = opened_once(nginx.uri("t-{0..1}.tar", proxy), tmp_path)
    window = {"kind": "block", "window": 2} if kind == "block" else {"kind": "global"}
    loader = counted_alone(source.with_cache(tmp_path / "cache", limit=limit).shuffle(seed=1, **window))
    orders, passed, evicted = [], [], []
    for _ in range(5):
        orders.append(rows_of(loader))
        passed.append(proxy.stats()["bytes"])
        evicted.append(loader.stats()["cache"]["evictions"])
    assert all(sorted(order) == list(range(len(places))) for order in orders)
    fetched, best = passed[-1] - passed[0], min(bounds(orders, places, sizes, limit))
    assert fetched <= 1.05 * best, f"{fetched} bytes, {best} with Belady's algorithm"
    # Nobody could do with less, so less would mean that bytes were not counted.
    assert fetched >= 0.9 * best
    counted = loader.stats()["cache"]
    # Every byte is needed once in an epoch: replacing one would save nothing.
    assert len(set(evicted)) == 1 and len(counted["epochs"]) == 5
    assert 0.8 * chunks / 8 < counted["hit_share"] < 1.2 * chunks / 8
    assert f"about {100 - 100 * limit / sum(sizes):.0f} % of the bytes come again" in loader.explain()
    loader.close()


def test_rows_that_are_needed_more_often_stay(nginx, shards, proxied, tmp_path):
    _, sizes = shards
    proxy = proxied(nginx)

    def part(shard: int):
        url = nginx.uri(f"t-{shard}.tar", proxy)
        return opened_once(url, tmp_path).with_cache(tmp_path / "cache", limit=5 * CHUNK_FILE)

    # The rare rows come first and fill the cache; the others are needed four times as often.
    with part(0).batch(16).to_numpy() as first:
        rows_of(first)
    loader = counted_alone(infeed.concat([part(0), part(1).repeat(4)]).shuffle(seed=1, kind="global"))
    orders, passed = [], []
    for _ in range(4):
        orders.append(rows_of(loader))
        passed.append(proxy.stats()["bytes"])
    assert orders[0].count(1) == 4 and orders[0].count(2) == 1
    # All of the second shard is there, and nothing of it comes again; about one chunk of the first is there, too.
    assert passed[-1] - passed[1] <= 1.05 * 2 * sizes[0]
    assert loader.stats()["cache"]["evictions"] > 0
    loader.close()


@pytest.mark.parametrize("limit", ["1MB", "4.1MB", "6MB"])
def test_a_tiny_limit_neither_hangs_nor_collapses(nginx, shards, proxied, tmp_path, limit):
    places, sizes = shards
    proxy = proxied(nginx)
    source = opened_once(nginx.uri("t-{0..1}.tar", proxy), tmp_path)
    loader = counted_alone(source.with_cache(tmp_path / "cache", limit=limit).shuffle(seed=1))
    passed = []
    for _ in range(3):
        assert sorted(rows_of(loader)) == list(range(len(places)))
        passed.append(proxy.stats()["bytes"])
    assert passed[-1] - passed[0] <= 1.05 * 2 * sum(sizes)
    loader.close()


def test_a_cache_that_holds_everything_asks_for_nothing(nginx, shards, proxied, tmp_path):
    _, sizes = shards
    proxy = proxied(nginx, keys=True)

    def opened():
        source = opened_once(nginx.uri("t-{0..1}.tar", proxy), tmp_path)
        return source.with_cache(tmp_path / "cache").shuffle(seed=1).batch(16).to_numpy()

    loader = opened()
    first = rows_of(loader)
    assert proxy.stats()["bytes"] <= 1.02 * sum(sizes)
    assert "it keeps all of the data" in loader.explain()
    proxy.reset()
    for _ in range(2):
        assert sorted(rows_of(loader)) == sorted(first)
    assert proxy.stats()["requests"] == 0
    assert loader.stats()["cache"]["epochs"][-1]["store_bytes"] == 0
    loader.close()
    # Others have to know whether the objects are still the same: one request for each.
    again = opened()
    assert rows_of(again) == first
    assert proxy.stats()["requests"] <= len(sizes)
    again.close()


@pytest.mark.parametrize("tier", ["disk", "memory"])
def test_samples_of_remote_data_are_kept(nginx, shards, proxied, tmp_path, tier):
    """The stage `cache`: what it keeps is not asked for again, though the engine announces rows to the store."""
    proxy = proxied(nginx, keys=True)
    source = opened_once(nginx.uri("t-{0..1}.tar", proxy), tmp_path).shuffle(seed=1)
    where = {"path": tmp_path / "samples"} if tier == "disk" else {"limit": "200MB"}

    def epoch(loader) -> list[tuple[bytes, bytes]]:
        return [(bytes(c), bytes(b)) for batch in loader for c, b in zip(batch["cls"], batch["bin"], strict=True)]

    with source.batch(16).to_numpy() as plain, source.cache(tier, **where).batch(16).to_numpy() as kept:
        assert epoch(kept) == epoch(plain)
        proxy.settle()
        second = epoch(kept)
        assert proxy.stats()["requests"] == 0
        assert second == epoch(plain)


def test_a_cache_in_memory_ends_with_its_last_user(nginx, shards, tmp_path):
    folder = Path("/dev/shm", f"infeed-test-{os.getpid()}")
    if not folder.parent.is_dir():
        pytest.skip("there is no /dev/shm")
    url = nginx.uri("t-{0..1}.tar")
    len(infeed.tar(url, index=str(tmp_path / "index")))
    with (
        infeed.tar(url, index=str(tmp_path / "index")).with_cache(folder, limit="9MB").batch(16).to_numpy() as loader
    ):
        rows_of(loader)
        assert 4_000_000 < sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < 9_500_000
        # Another process comes and goes.
        assert len(json.loads(read(url, folder, "0/1", tmp_path / "index").communicate(timeout=60)[0])) == 540
        assert folder.exists()
    del loader
    gc.collect()
    assert not folder.exists()
