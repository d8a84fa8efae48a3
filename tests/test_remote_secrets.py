"""No secret in any output: failures of all kinds, with secrets that can be found again in whatever was said."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import traceback

import pytest
from test_remote import data, serve, tar  # noqa: F401

import infeed
from infeed import _core

SECRETS = {
    "AWS_ACCESS_KEY_ID": "AKIAHUSHHUSHHUSH0001",
    "AWS_SECRET_ACCESS_KEY": "hush-secret-key-0002",
    "AWS_SESSION_TOKEN": "hush-session-token-0003",
    "AZURE_STORAGE_ACCOUNT_KEY": "aHVzaC1henVyZS1rZXktMDAwNA==",
    "AZURE_STORAGE_SAS_TOKEN": "sv=2021-08-06&sig=hush-sas-0005",
    "HF_TOKEN": "hf_hushhushhush0006",
    "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps({"private_key": "hush-google-0007", "client_email": "a@b"}),
}
PASSWORD = "hush-password-0008"
SIGNATURE = "hush-signature-0009"
FOUND = [*list(SECRETS.values())[:4], "hush-sas-0005", "hf_hushhushhush0006", "hush-google-0007", PASSWORD, SIGNATURE]
FOUND += ["hush-program-0010", "hush-profile-0011"]
SOON = {"deadline": 0.3}


def signed(url: str) -> str:
    return f"{url}?X-Amz-Credential=x&X-Amz-Signature={SIGNATURE}"


@pytest.fixture
def secrets(monkeypatch, tmp_path, caplog) -> None:
    """An environment full of secrets, and profiles with more of them."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    printed = json.dumps({"Version": 1, "AccessKeyId": "hush-program-0010", "SecretAccessKey": "hush-program-0010"})
    (tmp_path / "config").write_text(f"[profile asked]\ncredential_process = echo '{printed}'\n")
    (tmp_path / "credentials").write_text(
        "[given]\naws_access_key_id = hush-profile-0011\naws_secret_access_key = hush-profile-0011\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    caplog.set_level(logging.DEBUG)


def clean(*texts: str) -> None:
    for text in texts:
        for secret in FOUND:
            assert secret not in text, f"{secret} is in {text}"


def failure(path: str, **store: object) -> str:
    """All that is said when a path cannot be read."""
    pipeline = infeed.open(path, store={**SOON, **store}).batch(4)
    with pytest.raises((OSError, ValueError)) as caught:
        len(pipeline)
    error = caught.value
    told = [str(error), repr(error), repr(error.args), repr(pipeline), *traceback.format_exception(error, chain=True)]
    return "\n".join(told)


FAILURES = {
    "nobody listens": ("http://127.0.0.1:9/x.tar", {}),
    "no such host": ("https://no-such-host.invalid/x.tar", {}),
    "S3 without a server": ("s3://bucket/x.tar", {"endpoint": "http://127.0.0.1:9"}),
    "S3, given keys": ("s3://bucket/x.tar", {"endpoint": "http://127.0.0.1:9", "profile": "given"}),
    "S3, a program's keys": ("s3://bucket/x.tar", {"endpoint": "http://127.0.0.1:9", "profile": "asked"}),
    "S3, a pattern": ("s3://bucket/x-*.tar", {"endpoint": "http://127.0.0.1:9"}),
    "Azure": ("az://container/x.tar", {"endpoint": "http://127.0.0.1:9"}),
    "Google": ("gs://bucket/x.tar", {"endpoint": "http://127.0.0.1:9"}),
    "the hub": ("hf://datasets/a/b/x.tar", {"endpoint": "http://127.0.0.1:9"}),
    "a password": (f"http://user:{PASSWORD}@127.0.0.1:9/x.tar", {}),
    "a signature": (signed("http://127.0.0.1:9/x.tar"), {}),
    "a signature and braces": (signed("http://127.0.0.1:9/x-{0..3}.tar"), {}),
    "a proxy's password": ("http://127.0.0.1:9/x.tar", {"proxy": f"http://me:{PASSWORD}@127.0.0.1:9"}),
    "a wrong scheme": (f"htps://h/x.tar?sig={SIGNATURE}", {}),
    "a wrong option": ("s3://bucket/x.tar", {"secret_access_key": "hush-secret-key-0002"}),
}


@pytest.mark.parametrize("what", FAILURES)
def test_failures(secrets, monkeypatch, capfd, caplog, what):
    path, store = FAILURES[what]
    if what in ("Azure", "the hub", "Google"):
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "someone")
        monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", "http://127.0.0.1:9/someone")
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
        store = {}
    text = failure(path, **store)
    out, err = capfd.readouterr()
    clean(text, out, err, caplog.text)


@pytest.mark.parametrize("answer", [400, 401, 403, 404, 429, 500, 503])
def test_answers(secrets, moto, nginx, proxied, capfd, caplog, answer):
    """Whatever a server says, it is not told what it was sent."""
    proxy = proxied(nginx, errors={str(answer): 1.0})
    clean(
        failure(signed(nginx.uri("x.tar", proxy))),
        failure(nginx.uri("x.tar", proxy).replace("//", f"//u:{PASSWORD}@")),
    )
    far = proxied(moto, errors={str(answer): 1.0})
    for profile in ({}, {"profile": "given"}, {"profile": "asked"}):
        clean(failure("s3://data/x.tar", endpoint=moto.endpoint(far), **profile))
    out, err = capfd.readouterr()
    clean(out, err, caplog.text)


def test_wrong_keys_and_signatures(secrets, keyed):
    keyed.put("x.tar", b"x" * 1000)
    keyed.set_keys(OTHER={"secret": "other"})
    for profile in ({}, {"profile": "given"}, {"profile": "asked"}):
        clean(failure("s3://data/x.tar", endpoint=keyed.endpoint(), **profile))
        clean(failure("s3://data/x-*.tar", endpoint=keyed.endpoint(), **profile))


def test_damaged_shards_of_signed_urls(secrets, nginx, tmp_path, monkeypatch):
    """Errors of the data name the shard, whose name has the signature in it."""
    tar(tmp_path / "x.tar", 0, 20)
    whole = (tmp_path / "x.tar").read_bytes()
    nginx.put("cut.tar", whole[: len(whole) // 2])
    nginx.put("bad.jsonl", b'{"a": 1}\n{"a": \n{"a": 3}\n')
    nginx.put("bad.parquet", b"PAR1" + bytes(100) + b"PAR1")
    for name in ("cut.tar", "bad.jsonl", "bad.parquet"):
        with pytest.raises(Exception) as caught:
            for _ in infeed.open(signed(nginx.uri(name))).batch(2).to_numpy():
                pass
        clean(str(caught.value), repr(caught.value))
        assert name in str(caught.value)
    loader = infeed.open(signed(nginx.uri("bad.jsonl"))).batch(2).to_numpy(on_error="skip")
    assert sum(len(batch["a"]) for batch in loader) == 2
    clean(str(loader.stats()), repr(loader.stats()), repr(loader), str(loader.ledger()))


def test_what_a_pipeline_says_of_itself(secrets, nginx, data, monkeypatch, tmp_path, capfd, caplog):  # noqa: F811
    root = serve(nginx, data, monkeypatch)
    pipeline = infeed.tar(signed(root + "t-0.tar")).with_cache(tmp_path / "cache").shuffle(seed=1).batch(8)
    loader = pipeline.to_numpy()
    batch = next(iter(loader))
    told = [
        repr(pipeline),
        str(pipeline),
        pipeline.explain(),
        repr(loader),
        str(loader.stats()),
        repr(dict(loader.stats())),
    ]
    told += [str(loader.state_dict()), str(loader.ledger()), repr(batch), _core.remote_stats()]
    out, err = capfd.readouterr()
    clean(*told, out, err, caplog.text)
    # What comes from the environment is not even in the recipe; a signed URL is, because it is the path.
    recipe = str(pipeline.recipe)
    assert SIGNATURE in recipe and not any(secret in recipe for secret in FOUND if secret != SIGNATURE)


def test_the_command(secrets, nginx, data, monkeypatch, tmp_path):  # noqa: F811
    root = serve(nginx, data, monkeypatch)
    cache = tmp_path / "cache"
    pipeline = infeed.tar(signed(root + "t-0.tar")).with_cache(cache).batch(8)
    assert sum(len(batch["cls"]) for batch in pipeline.to_numpy()) == 60
    pipeline.save(tmp_path / "recipe.json")
    commands = [
        ["inspect", signed(root + "t-0.tar")],
        ["inspect", signed(root + "t-0.tar"), "--json"],
        ["inspect", signed(root + "none.tar")],
        ["inspect", root.replace("//", f"//u:{PASSWORD}@") + "none.tar"],
        ["bench", str(tmp_path / "recipe.json"), "--seconds", "1"],
        ["cache", "ls", str(cache)],
        ["cache", "ls", str(cache), "--json"],
        ["cache", "verify", str(cache)],
    ]
    for words in commands:
        run = subprocess.run([sys.executable, "-m", "infeed", *words], capture_output=True, text=True, timeout=120)
        assert run.stdout or run.stderr
        clean(run.stdout, run.stderr)
