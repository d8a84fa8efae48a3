"""How rows of remote tars are found: sidecars, saved indices, streams, lists of shards; in few requests."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from servers import request
from test_remote import digest

import infeed

SHARDS, ROWS = 12, 20
NAMES = "t-{000..011}.tar"


def tar_bytes(first: int, rows: int, size: int = 3000) -> bytes:
    random = np.random.default_rng(first)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as file:
        for row in range(first, first + rows):
            for name, data in ((f"{row:06}.bin", random.bytes(size + row)), (f"{row:06}.cls", str(row % 7).encode())):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                file.addfile(member, io.BytesIO(data))
    return out.getvalue()


@pytest.fixture(scope="session")
def tars(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tars")
    for shard in range(SHARDS):
        (folder / f"t-{shard:03}.tar").write_bytes(tar_bytes(shard * ROWS, ROWS))
    return folder


@pytest.fixture
def place(request, tmp_path, monkeypatch) -> str:
    """A prefix of its own, and a cache folder of its own."""
    monkeypatch.setenv("INFEED_CACHE", str(tmp_path / "cache"))
    return f"index-{request.node.name.partition('[')[0]}/"


def put(server: Any, tars: Path, place: str, monkeypatch: Any, through: Any = None) -> str:
    server.put_folder(tars, place)
    for name, value in server.environment(through).items():
        monkeypatch.setenv(name, value)
    try:
        return str(server.uri(place, through))
    except TypeError:
        return str(server.uri(place))


def command(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "infeed", *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout, done.stderr


def kinds(proxy: Any) -> dict[str, int]:
    """How many requests there were: lists, questions for an object, bytes, and of these bytes of sidecars."""
    counts = {"list": 0, "head": 0, "get": 0, "sidecar": 0}
    for key, count in proxy.stats()["keys"].items():
        method, _, path = key.partition(" ")
        if method == "HEAD":
            counts["head"] += count
        elif "list-type=2" in path:
            counts["list"] += count
        else:
            counts["sidecar" if ".infeed-index" in path else "get"] += count
    return counts


class TestRequests:
    """Each way to the server and back costs its latency, so there are as few as can be.

    None of them is sent a second time because a busy machine was late.
    """

    @pytest.mark.parametrize("names", [NAMES, "t-*.tar"])
    def test_with_a_saved_index(self, moto, tars, place, monkeypatch, proxied, names):
        proxy = proxied(moto, keys=True)
        root = put(moto, tars, place, monkeypatch, proxy)
        # In the cache folder only what took long is kept; a folder that was named keeps all.
        kept = str(Path(infeed._core.cache_folder()) / "named")
        assert len(infeed.tar(root + names, index=kept).with_store(hedge=False)) == SHARDS * ROWS
        proxy.reset()
        assert len(infeed.tar(root + names, index=kept).with_store(hedge=False)) == SHARDS * ROWS
        assert kinds(proxy) == {"list": 1, "head": 0, "get": 0, "sidecar": 0}

    def test_with_sidecars(self, moto, tars, place, monkeypatch, proxied):
        proxy = proxied(moto, keys=True)
        root = put(moto, tars, place, monkeypatch, proxy)
        assert command("index", root + NAMES)[0] == 0
        proxy.reset()
        assert len(infeed.tar(root + NAMES).with_store(hedge=False)) == SHARDS * ROWS
        assert kinds(proxy) == {"list": 1, "head": 0, "get": 0, "sidecar": SHARDS}
        proxy.reset()
        # What came from the sidecars is kept here.
        assert len(infeed.tar(root + NAMES).with_store(hedge=False)) == SHARDS * ROWS
        assert kinds(proxy) == {"list": 1, "head": 0, "get": 0, "sidecar": 0}

    def test_without_any(self, moto, tars, place, monkeypatch, proxied):
        proxy = proxied(moto, keys=True)
        root = put(moto, tars, place, monkeypatch, proxy)
        assert len(infeed.tar(root + NAMES, index="off").with_store(hedge=False)) == SHARDS * ROWS
        # One request for each tar: they are smaller than a request may be. Never one for each member.
        assert kinds(proxy) == {"list": 1, "head": 0, "get": SHARDS, "sidecar": 0}

    def test_web_servers(self, nginx, tars, place, monkeypatch, proxied):
        proxy = proxied(nginx, keys=True)
        root = put(nginx, tars, place, monkeypatch, proxy)
        assert len(infeed.tar(root + "t-{000..002}.tar").with_store(hedge=False)) == 3 * ROWS
        # Each tar and each sidecar is asked for once; nothing is listed.
        assert kinds(proxy) == {"list": 0, "head": 6, "get": 3, "sidecar": 0}

    def test_few_names_are_asked_once(self, moto, tars, place, monkeypatch, proxied):
        proxy = proxied(moto, keys=True)
        root = put(moto, tars, place, monkeypatch, proxy)
        assert len(infeed.open(root + "t-{000..002}.tar", store={"hedge": False})) == 3 * ROWS
        # Each tar and each sidecar; one look at the first bytes tells the format, and each tar is then read.
        assert kinds(proxy) == {"list": 0, "head": 6, "get": 4, "sidecar": 0}

    def test_what_told_the_format_is_kept(self, moto, tars, place, monkeypatch, proxied):
        # What opened in no time is not worth a file.
        proxy = proxied(moto, keys=True, latency_ms=60)
        root = put(moto, tars, place, monkeypatch, proxy)
        assert command("index", root + NAMES)[0] == 0
        for looks in (1, 0):
            proxy.reset()
            assert len(infeed.open(root + NAMES, store={"hedge": False})) == SHARDS * ROWS
            assert kinds(proxy) == {"list": 1, "head": 0, "get": looks, "sidecar": SHARDS * looks}


class TestSidecars:
    def test_they_are_written_kept_and_renewed(self, moto, tars, place, monkeypatch):
        root = put(moto, tars, place, monkeypatch)
        first = json.loads(command("index", root + "t-*.tar", "--json")[1])
        assert (first["written"], first["there"], first["rows"]) == (SHARDS, 0, SHARDS * ROWS)
        again = json.loads(command("index", root + "t-*.tar", "--json")[1])
        assert (again["written"], again["there"], again["rows"]) == (0, SHARDS, SHARDS * ROWS)
        moto.put(f"{place}t-003.tar", tar_bytes(5000, 7))
        # A sidecar that does not fit is not used, and is made anew.
        assert len(infeed.tar(root + "t-*.tar")) == (SHARDS - 1) * ROWS + 7
        renewed = json.loads(command("index", root + "t-*.tar", "--json")[1])
        assert (renewed["written"], renewed["there"]) == (1, SHARDS - 1)
        forced = json.loads(command("index", root + "t-*.tar", "--again", "--json")[1])
        assert (forced["written"], forced["there"]) == (SHARDS, 0)
        assert "12 indices written, 0 were there" in command("index", root + NAMES, "--again")[1]

    def test_one_of_another_tar_is_not_used(self, moto, tars, place, monkeypatch):
        """Copied along with a tar it is used, if its headers fit; beside another tar of the same size it is not."""
        root = put(moto, tars, place, monkeypatch)
        one, other = tar_bytes(0, 5, size=1000), tar_bytes(100, 5, size=900)
        assert len(one) == len(other)
        moto.put(f"{place}one.tar", one)
        assert command("index", root + "one.tar")[0] == 0
        sidecar = signed(moto, "GET", f"{place}one.tar.infeed-index")
        moto.put(f"{place}copy.tar", one)
        moto.put(f"{place}copy.tar.infeed-index", sidecar)
        moto.put(f"{place}other.tar", other)
        moto.put(f"{place}other.tar.infeed-index", sidecar)
        for name in ("copy", "other"):
            want = infeed.tar(root + f"{name}.tar", index="off")
            assert digest(infeed.tar(root + f"{name}.tar")) == digest(want)

    def test_damaged_sidecars_are_not_used(self, moto, tars, place, monkeypatch):
        root = put(moto, tars, place, monkeypatch)
        assert command("index", root + "t-000.tar")[0] == 0
        key = f"{place}t-000.tar.infeed-index"
        good = signed(moto, "GET", key)
        for bad in (b"", b"nonsense", good[:-3], good[:60] + bytes([good[60] ^ 1]) + good[61:]):
            signed(moto, "PUT", key, bad)
            assert len(infeed.tar(root + "t-000.tar")) == ROWS

    def test_elsewhere(self, moto, tars, place, monkeypatch, proxied, tmp_path):
        proxy = proxied(moto, keys=True)
        root = put(moto, tars, place, monkeypatch, proxy)
        folder = tmp_path / "indices"
        assert command("index", root + NAMES, "--into", str(folder))[0] == 0
        assert len(list(folder.iterdir())) == SHARDS
        assert command("index", root + NAMES, "--cache")[0] == 0
        for index in ("auto", str(folder)):
            proxy.reset()
            assert len(infeed.tar(root + NAMES, index=index)) == SHARDS * ROWS
            assert kinds(proxy) == {"list": 1, "head": 0, "get": 0, "sidecar": 0}

    def test_azure(self, azurite, tars, place, monkeypatch):
        root = put(azurite, tars, place, monkeypatch)
        assert json.loads(command("index", root + "*.tar", "--json")[1])["written"] == SHARDS
        assert json.loads(command("index", root + "*.tar", "--json")[1])["there"] == SHARDS

    def test_stores_that_cannot_be_written(self, nginx, tars, place, monkeypatch):
        root = put(nginx, tars, place, monkeypatch)
        code, out, _ = command("index", root + "t-{000..001}.tar")
        assert code == 1 and "no index:" in out and "--cache, or --into FOLDER" in out
        assert command("index", root + "t-{000..001}.tar", "--cache")[0] == 0

    def test_local_tars(self, tars, place, tmp_path):
        for path in sorted(tars.iterdir())[:3]:
            (tmp_path / path.name).write_bytes(path.read_bytes())
        (tmp_path / "bad.tar").write_bytes(tar_bytes(0, 3)[:5000])
        code, out, _ = command("index", str(tmp_path / "*.tar"))
        assert code == 1 and "3 indices written" in out and "bad.tar" in out and "cut off" in out
        assert command("index", str(tmp_path / "t-*.tar"))[1].startswith(
            "3 tars with 60 rows: 0 indices written, 3 were"
        )
        assert command("index", "x.tar.gz")[0] == 1 and command("index")[0] == 2


def signed(server: Any, method: str, key: str, data: bytes = b"") -> bytes:
    """A request for what infeed has written, which is not public. moto looks at the form of a signature alone."""
    scope = f"{server.access_key}/20260101/us-east-1/s3/aws4_request"
    signature = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"
    reply = request(server.port, method, server.path(key), data, headers={"Authorization": signature})
    assert reply.status == 200
    return reply.body


class TestStreams:
    def test_the_index_is_made_while_it_is_read(self, moto, tars, place, monkeypatch, proxied, tmp_path):
        root = put(moto, tars, place, monkeypatch)
        one, other = str(tmp_path / "streamed"), str(tmp_path / "scanned")
        stream = infeed.tar(root + NAMES, stream=True, index=one)
        assert stream.plan.is_stream
        rows = digest(stream)
        assert rows == digest(infeed.tar(root + NAMES, index=other))
        saved = {path.name: path.read_bytes() for path in Path(other).iterdir()}
        assert len(saved) == SHARDS
        assert {path.name: path.read_bytes() for path in Path(one).iterdir()} == saved
        # Through a proxy of its own: the loaders above may still fetch what comes next.
        proxy = proxied(moto, keys=True)
        put(moto, tars, place, monkeypatch, proxy)
        assert len(infeed.tar(root + NAMES, index=one)) == SHARDS * ROWS
        assert kinds(proxy) == {"list": 1, "head": 0, "get": 0, "sidecar": 0}

    def test_only_of_what_was_read_to_its_end(self, moto, tars, place, monkeypatch, tmp_path):
        root = put(moto, tars, place, monkeypatch)
        moto.put(f"{place}bad.tar", tar_bytes(0, 3) + b"something else" * 100)
        moto.put(f"{place}twice.tar", tar_bytes(0, 3) + tar_bytes(1, 3))
        folder = tmp_path / "index"
        # More rows than a stream reads ahead.
        with tarfile.open(tmp_path / "long.tar", "w") as file:
            for row in range(9000):
                file.addfile(tarfile.TarInfo(f"{row}.txt"))
        moto.put(f"{place}long.tar", (tmp_path / "long.tar").read_bytes())
        with infeed.tar(root + "long.tar", stream=True, index=str(folder)).batch(2).to_numpy(prefetch=1) as loader:
            assert len(next(iter(loader))["txt"]) == 2
        assert len(digest(infeed.tar(root + "bad.tar", stream=True, index=str(folder)))) == 3
        assert list(folder.glob("*")) == []
        # Archives that were appended to one another are one tar.
        assert len(digest(infeed.tar(root + "twice.tar", stream=True, index=str(folder)))) == 6
        [saved] = folder.iterdir()
        streamed = saved.read_bytes()
        saved.unlink()
        assert len(infeed.tar(root + "twice.tar", index=str(folder))) == 6
        assert saved.read_bytes() == streamed

    def test_arguments(self, tars):
        with pytest.raises(ValueError, match="cannot skip damaged parts"):
            infeed.tar(tars / "t-000.tar", stream=True, lenient=True).plan  # noqa: B018
        near = infeed.tar(tars / "t-000.tar", stream=True)
        assert digest(near) == digest(infeed.tar(tars / "t-000.tar"))


class TestLists:
    """Lists of shards that WebDataset's `widsindex` has written."""

    @staticmethod
    def listed(names: list[str], rows: int = ROWS, **more: Any) -> bytes:
        shards = [{"url": name, "md5sum": "0", "nsamples": rows, "filesize": 1} for name in names]
        return json.dumps(
            {"__kind__": "wids-shard-index-v1", "wids_version": 1, "shardlist": shards, **more}
        ).encode()

    def test_they_stand_for_their_tars(self, moto, tars, place, monkeypatch, tmp_path):
        root = put(moto, tars, place, monkeypatch)
        names = [f"t-{i:03}.tar" for i in (4, 1, 9)]
        want = digest(infeed.tar([str(tars / name) for name in names]))
        moto.put(f"{place}index.json", self.listed(names))
        for opened in (infeed.open, infeed.tar):
            assert digest(opened(root + "index.json")) == want
        moto.put(f"{place}full.json", self.listed([root + name for name in names], name="a set"))
        assert digest(infeed.open(root + "full.json")) == want
        (tmp_path / "near.json").write_bytes(self.listed(names))
        for name in names:
            (tmp_path / name).write_bytes((tars / name).read_bytes())
        assert digest(infeed.open(tmp_path / "near.json")) == want
        assert json.loads(command("index", root + "index.json", "--json")[1])["written"] == 3
        parts = json.dumps({"wids_version": 1, "datasets": [{"shardlist": [{"url": names[0], "nsamples": ROWS}]}]})
        (tmp_path / "parts.json").write_text(parts)
        assert len(infeed.tar(tmp_path / "parts.json")) == ROWS

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (listed(["t-000.tar"], rows=21), "it has 20 rows, and `.*index.json` says 21"),
            (listed(["../other/t-000.tar"]), "is not below"),
            (listed(["/etc/passwd"]), "is not below"),
            (listed(["s3://elsewhere/x.tar"]), "is not below"),
            (listed(["pipe:cat x.tar"]), "No such file|not found"),
            (listed([]), "names no shards"),
            (b'{"wids_version": 2, "shardlist": []}', "version 2 are not known"),
            (b'{"wids_version": 1, "shardlist": [{"url": "a.tar"}]}', "not a list of tars.*nsamples"),
            (b'{"wids_version": 1, "datasets": [{"source_url": "s3://b/x.json"}]}', "refers to another list"),
            (b"[1, 2", "not a list of tars"),
        ],
    )
    def test_what_is_wrong_with_one(self, tars, tmp_path, content, message):
        (tmp_path / "t-000.tar").write_bytes((tars / "t-000.tar").read_bytes())
        (tmp_path / "index.json").write_bytes(content)
        with pytest.raises((OSError, ValueError, infeed.FormatError), match=message):
            infeed.tar(tmp_path / "index.json").plan  # noqa: B018


class TestExplanations:
    def test_of_shuffles(self, moto, tars, place, monkeypatch):
        root = put(moto, tars, place, monkeypatch)
        data = infeed.tar(root + NAMES)
        words = data.shuffle(seed=1).batch(8).explain()
        assert "sliding shuffle" in words and "by the URL alone" in words and "what is cached never changes" in words
        [ratio] = [line for line in words.splitlines() if line.startswith("reads ")]
        assert 1.0 <= float(ratio.partition("about ")[2].split()[0]) < 1.4
        assert 'shuffle(kind="global") mixes all rows; about' in words
        asked = data.shuffle(seed=1, kind="global").batch(8).explain()
        assert "global shuffle" in asked and "row by row, because a global shuffle was asked for" in asked
        assert "as asked for" in data.shuffle(seed=1, window=3).batch(8).explain()
        assert "one after the other" in data.batch(8).explain()
        assert "reads " not in infeed.tar(tars / "t-000.tar").shuffle(seed=1).batch(8).explain()

    def test_a_small_field_of_large_rows(self, moto, tars, place, monkeypatch):
        """The bytes between are counted."""
        root = put(moto, tars, place, monkeypatch)
        [line] = [
            line
            for line in infeed.tar(root + NAMES).select("cls").shuffle(seed=1).batch(8).explain().splitlines()
            if line.startswith("reads ")
        ]
        assert float(line.partition("about ")[2].split()[0]) > 5


@pytest.fixture
def large(nginx, place) -> str:
    """A tar of 300 MB with a hole in it: reading skips the member."""
    member = tarfile.TarInfo("a.bin")
    member.size = 300_000_000
    path = nginx.folder / "root" / nginx.bucket / place / "large.tar"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(member.tobuf())
        file.truncate(512 + (member.size + 511) // 512 * 512 + 1024)
    return f"{nginx.endpoint()}/{nginx.bucket}/{place}large.tar"


def test_much_to_read_is_logged(large, caplog):
    with caplog.at_level(logging.WARNING, logger="infeed"):
        assert len(infeed.tar(large, index="off")) == 1
    [said] = [record.getMessage() for record in caplog.records if record.name == "infeed"]
    assert "1 remote tars have no index: 0.3 GB" in said and "infeed index" in said and "stream=True" in said


def test_much_to_read_is_shown_by_commands(large):
    code, out, err = command("index", large, "--cache")
    assert code == 0 and "1 indices written" in out, (out, err)
    assert "finding the rows of 1 tars without an index: 0 B of 300 MB read" in err
    assert command("index", large, "--cache")[2] == ""


def test_large_sets_take_no_request_for_each_member(moto, place, monkeypatch, proxied, tmp_path):
    """Also where the store has no room for what is announced."""
    for shard in range(4):
        (tmp_path / f"t-{shard}.tar").write_bytes(tar_bytes(shard * 100, 100, size=40_000))
    proxy = proxied(moto)
    root = put(moto, tmp_path, place, monkeypatch, proxy)
    pipeline = infeed.tar(root + "t-{0..3}.tar", index="off").with_store(ahead=2 << 20)
    assert len(pipeline) == 400
    # Each tar has 4 MB and 200 members. What has no room is dropped and fetched again, in parts of up to a megabyte.
    assert proxy.stats()["requests"] < 4 * 200 / 4


def test_small_sets_are_fetched_once(moto, place, monkeypatch, proxied, tmp_path):
    """What was read to find the rows is still in memory when they are wanted."""
    for shard in range(4):
        (tmp_path / f"t-{shard}.tar").write_bytes(tar_bytes(shard * 50, 50, size=60_000))
    proxy = proxied(moto, keys=True)
    root = put(moto, tmp_path, place, monkeypatch, proxy)
    pipeline = infeed.tar(root + "t-{0..3}.tar", index="off").with_store(hedge=False).shuffle(seed=1).batch(20)
    assert len(pipeline) == 200
    size = sum((tmp_path / f"t-{shard}.tar").stat().st_size for shard in range(4))
    assert size <= proxy.stats()["bytes"] < 1.1 * size
    proxy.reset()
    with pipeline.to_numpy() as loader:
        batches = iter(loader)
        assert len(next(batches)["cls"]) == len(next(batches)["cls"]) == 20
    assert proxy.stats()["bytes"] < size / 2
