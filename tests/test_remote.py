"""Data in object stores and on web servers: the same rows as from local files, through faults, with errors that say why.

Everything here talks to real servers on this machine; what cannot be had is skipped with the reason.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tarfile
import time
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import infeed
from infeed import _core


def tar(path: Path, first: int, rows: int, size: int = 20_000) -> None:
    random = np.random.default_rng(first)
    with tarfile.open(path, "w") as file:
        for row in range(first, first + rows):
            for name, data in ((f"{row:06}.bin", random.bytes(size + row)), (f"{row:06}.cls", str(row % 7).encode())):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                file.addfile(member, io.BytesIO(data))


@pytest.fixture(scope="session")
def data(tmp_path_factory) -> Path:
    """A folder with one data set of each kind."""
    folder = tmp_path_factory.mktemp("remote")
    for shard in range(3):
        tar(folder / f"t-{shard}.tar", shard * 60, 60)
    rows = 6_000
    table = pa.table(
        {"n": np.arange(rows), "x": np.arange(rows, dtype=np.float32) / 7, "t": [f"row {i}" for i in range(rows)]}
    )
    pq.write_table(table, folder / "x.parquet", row_group_size=500)
    with pa.OSFile(str(folder / "x.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=500):
            writer.write_batch(batch)
    (np.arange(200_000) % 50_000).astype(np.uint16).tofile(folder / "tokens.bin")
    lines = "".join(json.dumps({"i": i, "s": "x" * (i % 40)}) + "\n" for i in range(3_000))
    (folder / "x.jsonl").write_text(lines)
    (folder / "x.jsonl.gz").write_bytes(zlib.compress(lines.encode(), wbits=31))
    (folder / "x.jsonl.zst").write_bytes(pa.compress(lines.encode(), codec="zstd", asbytes=True))
    for name in ("cat", "dog"):
        (folder / "images" / name).mkdir(parents=True)
        for i in range(12):
            pixels = np.full((8, 8, 3), i * 20, np.uint8)
            Image.fromarray(pixels).save(folder / "images" / name / f"{i}.png")
    return folder


OPENERS = {
    "tar": ("t-{0..2}.tar", infeed.open),
    "parquet": ("x.parquet", infeed.open),
    "arrow": ("x.arrow", infeed.open),
    "tokens": ("tokens.bin", lambda path: infeed.tokens(path, length=128, raw="uint16")),
    "jsonl": ("x.jsonl", infeed.open),
}


def digest(pipeline, batch: int = 50, **options) -> list[tuple[int, int]]:
    """Row numbers in order, each with a checksum of its fields."""
    rows = []
    for made in pipeline.batch(batch).to_numpy(**options):
        for at, row in enumerate(made["__row__"]):
            crc = 0
            for name in sorted(made):
                if not name.startswith("__"):
                    value = made[name][at]
                    crc = zlib.crc32(value.tobytes() if hasattr(value, "tobytes") else repr(value).encode(), crc)
            rows.append((int(row), crc))
    return rows


def joined(lists: list[list[int]]) -> list[int]:
    return [item for part in lists for item in part]


def serve(server, data: Path, monkeypatch, through=None) -> str:
    """Puts the data on a server and returns the URL that its names follow."""
    if not getattr(server, "has_data", False):
        server.put_folder(data, "set/")
        server.has_data = True
    for name, value in server.environment(through).items():
        monkeypatch.setenv(name, value)
    try:
        return server.uri("set/", through)
    except TypeError:
        return server.uri("set/")


@pytest.fixture(params=["moto", "nginx"])
def server(request):
    return request.getfixturevalue(request.param)


class TestSuite:
    """The suite of stores over each scheme, against its server."""

    def test_s3(self, moto, monkeypatch):
        for name, value in moto.environment().items():
            monkeypatch.setenv(name, value)
        assert _core.check_store(moto.uri("suite/"), "{}") == []

    def test_s3_with_signatures(self, s3s_fs, monkeypatch):
        """Where `make s3s-fs` was run."""
        for name, value in s3s_fs.environment().items():
            monkeypatch.setenv(name, value)
        assert _core.check_store(s3s_fs.uri("suite/"), "{}") == []

    def test_azure(self, azurite, monkeypatch):
        for name, value in azurite.environment().items():
            monkeypatch.setenv(name, value)
        assert _core.check_store(azurite.uri("suite/"), "{}") == []

    def test_google(self, moto_as_gcs, monkeypatch):
        for name, value in moto_as_gcs.environment().items():
            monkeypatch.setenv(name, value)
        assert _core.check_store(moto_as_gcs.uri("suite/"), "{}") == []

    def test_hub(self, hub, monkeypatch):
        for name, value in hub.environment().items():
            monkeypatch.setenv(name, value)
        assert _core.check_store(hub.uri("suite/"), "{}", hub.files() / "suite", lists=True) == []

    def test_http(self, nginx):
        folder = nginx.folder / "root" / nginx.bucket / "suite"
        assert _core.check_store(nginx.uri("suite/"), "{}", folder) == []


class TestFormats:
    @pytest.mark.parametrize("kind", OPENERS)
    def test_rows_are_those_of_local_files(self, server, data, monkeypatch, kind):
        root = serve(server, data, monkeypatch)
        name, opened = OPENERS[kind]
        near, far = opened(f"{data}/{name}"), opened(root + name)
        assert digest(far) == digest(near)
        assert digest(far.shuffle(seed=5, kind="global")) == digest(near.shuffle(seed=5, kind="global"))
        # By default blocks are shuffled; the rows are the same.
        assert sorted(digest(far.shuffle(seed=5))) == sorted(digest(near))

    @pytest.mark.parametrize("kind", OPENERS)
    def test_ranks_and_resume(self, server, data, monkeypatch, kind):
        root = serve(server, data, monkeypatch)
        name, opened = OPENERS[kind]
        pipeline = opened(root + name).shuffle(seed=2).batch(40)
        whole = [b["__row__"].tolist() for b in pipeline.to_numpy()]
        shares = [[b["__row__"] for b in pipeline.to_numpy(rank=rank, world_size=2)] for rank in (0, 1)]
        assert sorted(np.concatenate(shares[0] + shares[1])) == sorted(np.concatenate(whole))
        loader = pipeline.to_numpy()
        taken = [next(batches)["__row__"].tolist() for batches in [iter(loader)] for _ in range(2)]
        again = pipeline.to_numpy()
        again.load_state_dict(loader.state_dict())
        assert taken + [b["__row__"].tolist() for b in again] == whole

    @pytest.mark.parametrize("packed", ["gz", "zst"])
    def test_streams(self, server, data, monkeypatch, packed):
        """Rows, ranks and resume of what is read from front to back."""
        root = serve(server, data, monkeypatch)
        far = infeed.open(f"{root}x.jsonl.{packed}")
        assert digest(far) == digest(infeed.open(f"{data}/x.jsonl.{packed}"))
        pipeline = far.shuffle(seed=2, buffer=100).batch(250)
        whole = [b["i"].tolist() for b in pipeline.to_numpy()]
        assert sorted(joined(whole)) == list(range(3_000))
        shares = [[b["i"].tolist() for b in pipeline.to_numpy(rank=rank, world_size=2)] for rank in (0, 1)]
        assert sorted(joined(shares[0] + shares[1])) == list(range(3_000))
        loader = pipeline.to_numpy()
        taken = [next(batches)["i"].tolist() for batches in [iter(loader)] for _ in range(2)]
        again = pipeline.to_numpy()
        again.load_state_dict(loader.state_dict())
        assert taken + [b["i"].tolist() for b in again] == whole

    def test_folders_of_images(self, moto, data, monkeypatch):
        root = serve(moto, data, monkeypatch)
        near, far = infeed.open(data / "images"), infeed.open(root + "images")
        assert far.classes == near.classes == ["cat", "dog"]
        assert digest(far) == digest(near)
        pipeline = far.shuffle(seed=3).batch(5)
        whole = [b["__row__"].tolist() for b in pipeline.to_numpy()]
        assert sorted(joined(whole)) == list(range(24))
        shares = [[b["__row__"].tolist() for b in pipeline.to_numpy(rank=rank, world_size=2)] for rank in (0, 1)]
        assert sorted(joined(shares[0] + shares[1])) == list(range(24))
        loader = pipeline.to_numpy()
        taken = [next(iter(loader))["__row__"].tolist()]
        again = pipeline.to_numpy()
        again.load_state_dict(loader.state_dict())
        assert taken + [b["__row__"].tolist() for b in again] == whole

    def test_listed_objects_of_azure(self, azurite, data, monkeypatch):
        """Its listings write tags in another way than its answers."""
        root = serve(azurite, data, monkeypatch)
        assert digest(infeed.open(root + "t-*.tar")) == digest(infeed.open(f"{data}/t-*.tar"))

    def test_patterns(self, moto, data, monkeypatch):
        root = serve(moto, data, monkeypatch)
        assert len(infeed.open(root + "t-*.tar")) == len(infeed.open(root + "t-{0..2}.tar")) == 180
        with pytest.raises(FileNotFoundError, match="no object matches"):
            len(infeed.open(root + "u-*.tar"))

    def test_an_index_is_kept(self, moto, data, monkeypatch, tmp_path, proxied):
        proxy = proxied(moto)
        root = serve(moto, data, monkeypatch, proxy)
        monkeypatch.setenv("INFEED_CACHE", str(tmp_path))
        assert len(infeed.tar(root + "t-{0..2}.tar", index=str(tmp_path / "index")).with_store(hedge=False)) == 180
        first = proxy.stats()["bytes"]
        proxy.settle()
        assert len(infeed.tar(root + "t-{0..2}.tar", index=str(tmp_path / "index")).with_store(hedge=False)) == 180
        assert proxy.stats()["bytes"] < first / 20

    def test_an_index_beside_the_shard(self, moto, data, monkeypatch, tmp_path, proxied):
        proxy = proxied(moto)
        root = serve(moto, data, monkeypatch, proxy)
        assert len(infeed.tar(root + "t-0.tar", index="beside")) == 60
        proxy.reset()
        assert digest(infeed.tar(root + "t-0.tar", index=str(tmp_path))) == digest(infeed.open(data / "t-0.tar"))
        # One epoch, and what was announced of the next; the shard was not read for its rows.
        assert proxy.stats()["bytes"] < 2.3 * (data / "t-0.tar").stat().st_size

    def test_each_byte_is_fetched_once(self, moto, data, monkeypatch, tmp_path, proxied):
        proxy = proxied(moto)
        root = serve(moto, data, monkeypatch, proxy)
        pipeline = infeed.tar(root + "t-{0..2}.tar", index=str(tmp_path)).shuffle(seed=1).batch(16)
        len(pipeline)
        proxy.reset()
        loader = pipeline.to_numpy()
        sum(len(b["cls"]) for b in loader)
        loader.close()
        size = sum((data / f"t-{i}.tar").stat().st_size for i in range(3))
        # The first batches are fetched row by row, and the next epoch may have begun.
        assert proxy.stats()["bytes"] < 2.5 * size


class TestHub:
    """Data sets of the hub, from a server that answers as it does."""

    def test_rows(self, hub, data, monkeypatch):
        root = serve(hub, data, monkeypatch)
        assert len(infeed.open(root + "t-*.tar")) == 180
        for kind in ("tar", "parquet", "jsonl"):
            name, opened = OPENERS[kind]
            assert digest(opened(root + name)) == digest(opened(f"{data}/{name}"))

    def test_revisions(self, hub, data, monkeypatch):
        serve(hub, data, monkeypatch)
        folder = hub.files(revision="refs/convert/parquet")
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"n": [1, 2, 3]}), folder / "n.parquet")
        for revision in ("refs/convert/parquet", "refs%2Fconvert%2Fparquet"):
            assert len(infeed.open(f"hf://datasets/{hub.bucket}@{revision}/n.parquet")) == 3
            assert len(infeed.open(f"hf://datasets/{hub.bucket}@{revision}/*.parquet")) == 3
        with pytest.raises(FileNotFoundError, match=r"n\.parquet"):
            len(infeed.open(f"hf://datasets/{hub.bucket}/n.parquet"))

    def test_renamed_data_sets(self, hub, data, monkeypatch):
        serve(hub, data, monkeypatch)
        name, opened = OPENERS["parquet"]
        url = f"hf://datasets/before/{hub.bucket.partition('/')[2]}/set/{name}"
        assert digest(opened(url)) == digest(opened(f"{data}/{name}"))

    def test_the_token_is_for_the_hub_alone(self, hub, data, monkeypatch, capfd):
        serve(hub, data, monkeypatch)
        folder = hub.files("private/set")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "x.parquet").write_bytes((data / "x.parquet").read_bytes())
        url = "hf://datasets/private/set/x.parquet"
        with pytest.raises(OSError, match=r"401.*check the credentials") as caught:
            len(infeed.open(url))
        before = len(hub.seen())
        monkeypatch.setenv("HF_TOKEN", hub.token)
        pipeline = infeed.open(url)
        assert digest(pipeline) == digest(infeed.open(data / "x.parquet"))
        seen = hub.seen()[before:]
        assert seen and not any("authorization" in {name.lower() for name in asked} for asked in seen)
        shown = [repr(pipeline), str(pipeline.recipe), pipeline.explain(), str(caught.value), *capfd.readouterr()]
        assert not any(hub.token in text for text in shown)


FAULTS = {
    "resets": {"resets": 0.2},
    "errors": {"errors": {"503": 0.1, "500": 0.1, "429": 0.05}},
    "truncated": {"truncated": 0.2},
    "ranges": {"wrong_heads": 0.1, "whole": 0.1},
    "tail": {"latency_ms": 2, "tail": {"rate": 0.05, "ms": 300}},
}


class TestFaults:
    @pytest.mark.parametrize("fault", FAULTS)
    def test_faults_that_pass(self, server, data, monkeypatch, proxied, fault):
        if fault == "ranges" and not hasattr(server, "make_bucket"):
            pytest.skip("a web server that sends whole files is read in whole files: tested below")
        proxy = proxied(server, seed=3, **FAULTS[fault])
        root = serve(server, data, monkeypatch, proxy)
        for kind in ("tar", "parquet", "jsonl"):
            name, opened = OPENERS[kind]
            far, near = opened(root + name), opened(f"{data}/{name}")
            assert digest(far.shuffle(seed=4, kind="global")) == digest(near.shuffle(seed=4, kind="global"))
        assert sum(proxy.stats()["faults"].values()) > 0

    def test_a_server_that_stays_away(self, moto, data, monkeypatch, proxied):
        proxy = proxied(moto, errors={"503": 1.0})
        root = serve(moto, data, monkeypatch, proxy)
        with pytest.raises(OSError, match=r"answered 503.*tried \d+ times"):
            len(infeed.open(root + "t-0.tar", store={"deadline": 1}))

    def test_an_object_that_is_replaced(self, moto, data, monkeypatch, tmp_path):
        root = serve(moto, data, monkeypatch)
        # Larger than what may lie in memory: the search for rows has brought the first part of it, and not the last.
        tar(tmp_path / "a.tar", 0, 1500, 100_000)
        tar(tmp_path / "b.tar", 7, 1500, 100_000)
        moto.put("set/changing.tar", (tmp_path / "a.tar").read_bytes())
        url = root + "changing.tar"
        batches = iter(infeed.tar(url).with_store(ahead=64 << 20).batch(4).to_numpy(prefetch=1))
        next(batches)
        moto.put("set/changing.tar", (tmp_path / "b.tar").read_bytes())
        with pytest.raises(infeed.UnreadableError, match=r"changing\.tar.*changed"):
            for _ in batches:
                pass

    def test_servers_without_ranges(self, plain_http, data, monkeypatch):
        root = serve(plain_http, data, monkeypatch)
        for kind in ("tar", "parquet", "jsonl"):
            name, opened = OPENERS[kind]
            assert digest(opened(root + name)) == digest(opened(f"{data}/{name}"))

    def test_forks(self, moto, data, monkeypatch):
        root = serve(moto, data, monkeypatch)
        pipeline = infeed.open(root + "t-{0..2}.tar")
        here = digest(pipeline)
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if digest(pipeline) == here else 1)
            except BaseException:
                os._exit(2)
        until = time.monotonic() + 60
        while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < until:
            time.sleep(0.02)
        assert ended == (child, 0)


class TestMessages:
    def test_what_is_missing(self, moto, data, monkeypatch):
        root = serve(moto, data, monkeypatch)
        with pytest.raises(FileNotFoundError, match=r"t-9\.tar.*404"):
            len(infeed.open(root + "t-9.tar"))
        with pytest.raises(FileNotFoundError, match="NoSuchBucket"):
            len(infeed.open("s3://no-such-bucket/*.tar"))

    def test_hosts_that_are_not_there(self):
        with pytest.raises(OSError, match="no connection"):
            len(infeed.open("http://no-such-host.invalid/x.tar", store={"deadline": 0.5}))
        with pytest.raises(OSError, match="Connection refused"):
            len(infeed.open("http://127.0.0.1:9/x.tar", store={"deadline": 0.5}))

    def test_web_servers_have_no_listings(self, nginx, data, monkeypatch):
        root = serve(nginx, data, monkeypatch)
        with pytest.raises(FileNotFoundError, match="braces"):
            len(infeed.open(root + "*.tar"))
        with pytest.raises(FileNotFoundError, match=r"none\.tar.*404"):
            len(infeed.open(root + "none.tar"))

    def test_options(self):
        with pytest.raises(ValueError, match="did you mean `endpoint`"):
            len(infeed.open("s3://b/x.tar", store={"endpont": "x"}))
        with pytest.raises(ValueError, match="not part of a pipeline"):
            len(infeed.open("s3://b/x.tar", store={"secret_access_key": "hush"}))
        with pytest.raises(ValueError, match="there is no AWS profile `nobody`"):
            len(infeed.open("s3://b/x.tar", store={"profile": "nobody"}))
        with pytest.raises(ValueError, match="is for URLs"):
            infeed.open({"a": np.arange(3)}, store={"region": "x"})

    def test_what_needs_a_file(self, moto, monkeypatch, tmp_path):
        for name, value in moto.environment().items():
            monkeypatch.setenv(name, value)
        moto.put("x.sqlite", b"SQLite format 3\0" + bytes(200))
        with pytest.raises(ValueError, match="can only be read from a file of this machine"):
            len(infeed.sqlite(moto.uri("x.sqlite"), query="select 1"))


def test_no_secret_is_shown(moto, data, monkeypatch, capfd):
    """Neither in what a pipeline says of itself nor in errors."""
    root = serve(moto, data, monkeypatch)
    secrets = [moto.secret_key, moto.access_key, "very-secret-signature"]
    pipeline = infeed.open(root + "t-0.tar").batch(8)
    loader = pipeline.to_numpy()
    batch = next(iter(loader))
    shown = [repr(pipeline), str(pipeline.recipe), pipeline.explain(), repr(loader), str(loader.stats()), repr(batch)]
    shown += [str(loader.state_dict()), str(loader.ledger()), _core.remote_stats()]
    url = f"{moto.endpoint()}/{moto.bucket}/none.tar?X-Amz-Signature=very-secret-signature"
    for wrong in (
        root + "none.tar",
        "s3://no-such-bucket/x.tar",
        url,
        "http://user:very-secret-signature@127.0.0.1:9/x.tar",
    ):
        with pytest.raises((OSError, ValueError)) as caught:
            len(infeed.open(wrong, store={"deadline": 0.3}))
        shown.append(str(caught.value))
    out, err = capfd.readouterr()
    for text in (*shown, out, err):
        for secret in secrets:
            assert secret not in text


def test_profiles(moto, data, monkeypatch, tmp_path):
    root = serve(moto, data, monkeypatch)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name)
    printed = json.dumps({"Version": 1, "AccessKeyId": moto.access_key, "SecretAccessKey": moto.secret_key})
    program = tmp_path / "keys.sh"
    program.write_text(f"#!/bin/sh\necho '{printed}'\n")
    program.chmod(0o755)
    (tmp_path / "config").write_text(
        f"[profile given]\nendpoint_url = {moto.endpoint()}\n[profile asked]\nendpoint_url = {moto.endpoint()}\n"
        f"credential_process = {program}\n"
    )
    (tmp_path / "credentials").write_text(
        f"[given]\naws_access_key_id = {moto.access_key}\naws_secret_access_key = {moto.secret_key}\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    for profile in ("given", "asked"):
        assert len(infeed.open(root + "t-0.tar", store={"profile": profile})) == 60


def test_the_command(moto, data, monkeypatch):
    """`infeed inspect` reads URLs, too."""
    root = serve(moto, data, monkeypatch)
    run = subprocess.run(
        [sys.executable, "-m", "infeed", "inspect", root + "t-0.tar", "--json"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["rows"] == 60


def test_statistics_tell_of_requests(moto, data, monkeypatch):
    root = serve(moto, data, monkeypatch)
    loader = infeed.open(root + "t-0.tar").batch(8).to_numpy()
    rows = sum(len(batch["cls"]) for batch in loader)
    stats = loader.stats()
    assert rows == 60
    assert stats["remote"]["requests"] > 0 and stats["remote"]["bytes"] > 60 * 20_000
    assert "requests" in str(stats) and str(stats).splitlines()[-1].startswith("verdict")


def test_the_verdict_names_the_store(moto, data, monkeypatch, proxied):
    """Small requests for one row at a time, each half a second away, and nobody who works with the rows."""
    root = serve(moto, data, monkeypatch, proxied(moto, latency_ms=500))
    loader = infeed.open(root + "t-0.tar", store={"requests": 2}).shuffle(kind="global").batch(4).to_numpy()
    assert sum(len(batch["cls"]) for batch in loader) == 60
    stats = loader.stats()
    assert "the store's latency is the limit: " in stats["verdict"] and " requests in flight, " in stats["verdict"]
    assert stats["remote"]["mean_in_flight"] > 0.5 and stats["remote"]["fastest_ms"] > 400


def test_statistics_of_local_data_do_not():
    """In a process of its own: the counts are those of a process."""
    code = (
        "import infeed; l = infeed.arrays(x=list(range(8))).batch(4).to_numpy(); list(l); print(l.stats()['remote'])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == "None"


@pytest.mark.parametrize("number", range(3))
def test_the_page(number):
    """Each snippet of docs/remote.md describes pipelines, which ask no store before they are opened."""
    page = (Path(__file__).parents[1] / "docs" / "remote.md").read_text(encoding="utf-8")
    snippets = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(snippets) == 3
    names = {"infeed": infeed}
    exec(snippets[number], names)
    assert (
        any("://" in str(made.recipe) for made in names.values() if isinstance(made, infeed.Pipeline)) or number == 1
    )
