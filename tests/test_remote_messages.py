"""What users read when remote data cannot be had: what is wrong, where, and what to do. All is provoked for real."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest
from test_remote import data, digest, serve, tar  # noqa: F401

import infeed
from infeed import _core


@pytest.fixture
def shard(tmp_path) -> bytes:
    tar(tmp_path / "x.tar", 0, 40)
    return (tmp_path / "x.tar").read_bytes()


@pytest.fixture
def private(keyed, shard, monkeypatch):
    """An S3 server that checks keys, with one shard, and an environment without any."""
    keyed.put("x.tar", shard)
    for name, value in keyed.environment().items():
        if "ACCESS_KEY" not in name:
            monkeypatch.setenv(name, value)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    return keyed


def keys(monkeypatch, name: str, secret: str, token: str | None = None) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", name)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    if token is not None:
        monkeypatch.setenv("AWS_SESSION_TOKEN", token)


def said(kind: type[Exception], what: object) -> str:
    """The message of the error that this raises."""
    with pytest.raises(kind) as caught:
        what()  # type: ignore[operator]
    return str(caught.value)


SLOW = {"ahead": 64 << 10, "requests": 1, "deadline": 5}
"""Few bytes ahead, so that an epoch needs many requests."""


class TestCredentials:
    def test_wrong_ones(self, private, monkeypatch):
        private.set_keys(GOOD={"secret": "right"})
        keys(monkeypatch, "NOBODY", "right")
        # An answer to HEAD has no body, so a listing or a read tells more.
        text = said(OSError, lambda: len(infeed.open("s3://data/x.tar")))
        assert "x.tar" in text and "403" in text and "check the credentials" in text
        keys(monkeypatch, "GOOD", "wrong")
        text = said(OSError, lambda: len(infeed.open("s3://data/x-*.tar")))
        assert (
            "SignatureDoesNotMatch" in text and "check the credentials in the environment or in the profile" in text
        )

    def test_right_ones(self, private, monkeypatch):
        private.set_keys(GOOD={"secret": "right", "token": "T"})
        keys(monkeypatch, "GOOD", "right", "T")
        assert len(infeed.open("s3://data/x.tar")) == 40

    def test_none_at_all(self, private):
        text = said(OSError, lambda: len(infeed.open("s3://data/x.tar", store={"anonymous": True})))
        assert "403" in text and "anonymous=True" in text

    @pytest.mark.parametrize("code", ["ExpiredToken", "InvalidAccessKeyId"])
    def test_that_end_in_the_middle(self, private, monkeypatch, code):
        """Keys of the environment cannot be had again: the error says what to do, and the state is still good."""
        private.set_keys(SHORT={"secret": "right", "left": 30, "then": code})
        keys(monkeypatch, "SHORT", "right")
        loader = infeed.tar("s3://data/x.tar").with_store(**SLOW).batch(4).to_numpy(prefetch=1, on_error="skip")
        rows: list[int] = []

        def epoch() -> None:
            for batch in loader:
                rows.extend(batch["__row__"].tolist())
                private.set_keys(SHORT={"secret": "right", "left": 0, "then": code})

        text = said(infeed.UnreadableError, epoch)
        assert code in text and "x.tar" in text
        if code == "ExpiredToken":
            assert "get new credentials, and go on from the last state" in text
        state = loader.state_dict()
        loader.close()
        private.set_keys(LONG={"secret": "fresh"})
        keys(monkeypatch, "LONG", "fresh")
        # As a new process would: a store that is open keeps the keys of the environment that it began with.
        again = infeed.tar("s3://data/x.tar").with_store(**SLOW).batch(4).to_numpy()
        again.load_state_dict(state)
        assert rows + [row for batch in again for row in batch["__row__"].tolist()] == list(range(40))

    @pytest.mark.parametrize("code", ["ExpiredToken", "InvalidAccessKeyId"])
    @pytest.mark.parametrize("source", ["program", "file"])
    def test_that_can_be_had_again(self, private, monkeypatch, tmp_path, source, code):
        """A profile is asked again as soon as its keys are refused, and the epoch goes on."""

        used: set[str] = set()

        def issue(number: int) -> None:
            if number:
                used.update(private.signed())
            names = {f"KEY{number}": {"secret": f"s{number}", "token": f"t{number}", "left": 25, "then": code}}
            private.set_keys(**names)
            named = {"AccessKeyId": f"KEY{number}", "SecretAccessKey": f"s{number}", "SessionToken": f"t{number}"}
            (tmp_path / "printed").write_text(json.dumps({"Version": 1, **named}))
            lines = [f"aws_access_key_id = KEY{number}", f"aws_secret_access_key = s{number}"]
            lines.append(f"aws_session_token = t{number}")
            (tmp_path / "credentials").write_text("\n".join(["[far]", *lines, ""]))

        issue(0)
        program = f"credential_process = cat {tmp_path}/printed\n" if source == "program" else ""
        (tmp_path / "config").write_text(f"[profile far]\nendpoint_url = {private.endpoint()}\n{program}")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
        if source == "file":
            monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
        pipeline = infeed.tar("s3://data/x.tar").with_store(profile="far", **SLOW).batch(4)
        rows: list[int] = []
        for step, batch in enumerate(pipeline.to_numpy(prefetch=1)):
            rows += batch["__row__"].tolist()
            if step % 3 == 1:
                issue(step)
        assert rows == list(range(40))
        used.update(private.signed())
        # The first ones, and new ones: how far ahead of the consumer the last request is depends on the machine.
        assert "KEY0" in used and used - {"KEY0"} and used <= {"KEY0", "KEY1", "KEY4", "KEY7"}

    def test_a_program_that_fails(self, private, monkeypatch, tmp_path):
        (tmp_path / "config").write_text(
            "[profile far]\ncredential_process = sh -c 'echo log in first >&2; exit 3'\n"
        )
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
        text = said(OSError, lambda: len(infeed.open("s3://data/x.tar", store={"profile": "far"})))
        assert "the AWS profile gives no credentials: `sh` failed: log in first" in text


class TestObjects:
    def test_a_bucket_that_is_not_there(self, moto, data, monkeypatch):  # noqa: F811
        serve(moto, data, monkeypatch)
        text = said(FileNotFoundError, lambda: len(infeed.open("s3://no-such-bucket/x-*.tar")))
        assert "s3://no-such-bucket/" in text and "NoSuchBucket" in text
        text = said(FileNotFoundError, lambda: len(infeed.open("s3://no-such-bucket/x.tar")))
        assert "s3://no-such-bucket/x.tar" in text and "NoSuchBucket" in text

    def test_one_that_is_replaced(self, moto, nginx, monkeypatch, tmp_path, data):  # noqa: F811
        tar(tmp_path / "a.tar", 0, 300)
        tar(tmp_path / "b.tar", 7, 300)
        for server in (moto, nginx):
            root = serve(server, data, monkeypatch)
            server.put("set/changes.tar", (tmp_path / "a.tar").read_bytes())
            loader = infeed.tar(root + "changes.tar").with_store(ahead=64 << 10).batch(4).to_numpy(prefetch=1)
            batches = iter(loader)
            next(batches)
            server.put("set/changes.tar", (tmp_path / "b.tar").read_bytes())

            def rest() -> None:
                for _ in batches:  # noqa: B023
                    pass

            text = said(infeed.UnreadableError, rest)
            assert (
                "changes.tar` changed while it was being read" in text and "start again with data that stays" in text
            )


class TestNetwork:
    def test_names_that_nobody_knows(self, moto, monkeypatch):
        for name, value in moto.environment().items():
            monkeypatch.setenv(name, value)
        near = {"deadline": 0.5}
        text = said(OSError, lambda: len(infeed.open("https://no-such-host.invalid/x.tar", store=near)))
        assert "no-such-host.invalid" in text and "no connection" in text and "lookup" in text
        far = {"deadline": 0.5, "endpoint": "http://no-such-host.invalid"}
        text = said(OSError, lambda: len(infeed.open("s3://data/x.tar", store=far)))
        assert "s3://data/x.tar" in text and "lookup" in text

    def test_ports_that_nobody_listens_on(self, monkeypatch):
        text = said(OSError, lambda: len(infeed.open("http://127.0.0.1:9/x.tar", store={"deadline": 0.5})))
        assert "no connection" in text and "Connection refused" in text and "tried" in text

    def test_certificates_that_nobody_knows(self, tls_http, shard):
        tls_http.put("x.tar", shard)
        url = tls_http.uri("x.tar")
        text = said(OSError, lambda: len(infeed.open(url)))
        assert "certificate" in text and "ca_file=" in text and "tried" not in text
        assert len(infeed.open(url, store={"ca_file": str(tls_http.certificate)})) == 40


SMALL = {"ahead": 100_000}


class TestServersWithoutRanges:
    @pytest.fixture
    def url(self, plain_http) -> str:
        lines = b"".join(json.dumps({"i": i, "s": hash(i) % 997}).encode() + b"\n" for i in range(40_000))
        plain_http.put("x.jsonl", lines)
        # Without compression, so that the file is larger than what may lie in memory.
        plain_http.put("x.jsonl.gz", zlib.compress(lines, 0, wbits=31))
        return plain_http.uri("")

    def test_streams_need_no_ranges(self, url):
        pipeline = infeed.open(url + "x.jsonl.gz").with_store(**SMALL)
        rows = [i for batch in pipeline.batch(1000).to_numpy() for i in batch["i"].tolist()]
        assert rows == list(range(40_000))
        text = pipeline.explain()
        assert "fetched whole: 1 file, because the server knows no range requests" in text
        assert "1 of them too large for memory, which can only be read as streams" in text

    def test_streams_through_a_cache(self, url, tmp_path):
        pipeline = infeed.open(url + "x.jsonl.gz").with_store(**SMALL).with_cache(tmp_path / "cache")
        assert [i for batch in pipeline.batch(1000).to_numpy() for i in batch["i"].tolist()] == list(range(40_000))

    def test_streams_that_break_off_go_on(self, plain_http, url, proxied):
        proxy = proxied(plain_http, seed=3, truncated=0.4, resets=0.4, limit=6, only="GET")
        pipeline = infeed.open(plain_http.uri("x.jsonl.gz", proxy)).with_store(**SMALL)
        rows = [i for batch in pipeline.batch(1000).to_numpy() for i in batch["i"].tolist()]
        assert rows == list(range(40_000)) and sum(proxy.stats()["faults"].values()) > 0

    def test_whole_files_that_break_off(self, plain_http, url, proxied):
        """The rest cannot be asked for: the file is fetched from its beginning."""
        proxy = proxied(plain_http, seed=3, truncated=0.4, resets=0.4, limit=6, only="GET")
        pipeline = infeed.open(plain_http.uri("x.jsonl", proxy))
        rows = [i for batch in pipeline.batch(1000).to_numpy(threads=4) for i in batch["i"].tolist()]
        assert rows == list(range(40_000)) and sum(proxy.stats()["faults"].values()) > 0

    @pytest.mark.parametrize("seed", range(4))
    def test_servers_that_sometimes_ignore_ranges(self, nginx, data, monkeypatch, proxied, seed):  # noqa: F811
        """Many threads find out at once, while parts are on their way."""
        proxy = proxied(nginx, seed=seed, whole=0.5, latency_ms=5)
        root = serve(nginx, data, monkeypatch, proxy)
        for name in ("t-{0..2}.tar", "x.parquet"):
            far, near = (infeed.open(where + name).shuffle(seed=1, kind="global") for where in (root, f"{data}/"))
            assert digest(far, batch=5, threads=4) == digest(near, batch=5)
        assert proxy.stats()["faults"]["whole"] > 0

    def test_what_cannot_be_streamed(self, url):
        text = said(OSError, lambda: len(infeed.open(url + "x.jsonl", store=SMALL)))
        assert "does not know range requests" in text and "more than may lie in memory (100000)" in text
        assert "pipe:curl" in text

    def test_small_files_are_read_whole(self, url):
        pipeline = infeed.open(url + "x.jsonl")
        assert len(pipeline) == 40_000 and "fetched whole: 1 file, because" in pipeline.explain()


def test_signatures_are_not_shown_in_any_text():
    assert _core.shown("`https://u:p@h/x?sig=1`") == "`https://...@h/x?...`"


def test_rows_of_a_signed_url(nginx, data, monkeypatch, tmp_path):  # noqa: F811
    """The name stays whole where programs compare it, and is cut where people read it."""
    root = serve(nginx, data, monkeypatch)
    url = root + "t-0.tar?X-Amz-Signature=very-secret"
    pipeline = infeed.tar(url)
    assert digest(pipeline) == digest(infeed.tar(Path(data) / "t-0.tar"))
    assert url in str(pipeline.recipe)
    assert "very-secret" not in repr(pipeline) + pipeline.explain() and "t-0.tar?..." in repr(pipeline)
