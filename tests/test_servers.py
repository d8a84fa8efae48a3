"""The servers that other tests use, and the proxy before them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from servers import Azurite, PlainHttp, Proxy, Reply, Server, Unavailable, request, tools

DATA = bytes(range(256)) * 1000
RANGE = {"Range": "bytes=100-299"}


def check_object(server: Server, get: Callable[[str, dict[str, str]], Reply]) -> None:
    """Put, get and range."""
    server.put("folder/object.bin", DATA)
    whole = get("folder/object.bin", {})
    assert (whole.status, whole.body) == (200, DATA)
    part = get("folder/object.bin", RANGE)
    assert (part.status, part.body) == (206, DATA[100:300])
    assert part.headers["content-range"] == f"bytes 100-299/{len(DATA)}"


def plain(server: Server) -> Callable[[str, dict[str, str]], Reply]:
    return lambda key, headers: request(server.port, "GET", server.path(key), headers=headers)


def test_moto(moto, tmp_path) -> None:
    check_object(moto, plain(moto))
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c.txt").write_text("c")
    (tmp_path / "d.txt").write_text("d")
    assert moto.put_folder(tmp_path, "moto/") == ["moto/a/b/c.txt", "moto/d.txt"]
    listed = request(moto.port, "GET", f"/{moto.bucket}?list-type=2&prefix=moto/").body
    assert b"<Key>moto/a/b/c.txt</Key>" in listed and b"<Key>moto/d.txt</Key>" in listed
    head = request(moto.port, "HEAD", moto.path("moto/d.txt"))
    assert head.headers["content-length"] == "1" and head.headers["etag"]
    changed = request(moto.port, "GET", moto.path("moto/d.txt"), headers={"If-Match": '"other"'})
    assert changed.status == 412
    assert moto.uri("x") == "s3://data/x"


def test_s3s_fs(s3s_fs) -> None:
    s3s_fs.put("a.txt", b"a")
    # Signatures are checked: without one nothing is given.
    assert request(s3s_fs.port, "GET", s3s_fs.path("a.txt")).status == 403


def test_gcs_emulator(gcs_emulator) -> None:
    check_object(gcs_emulator, plain(gcs_emulator))
    listed = request(gcs_emulator.port, "GET", f"/storage/v1/b/{gcs_emulator.bucket}/o?prefix=folder/")
    assert [item["name"] for item in json.loads(listed.body)["items"]] == ["folder/object.bin"]


def test_moto_as_gcs(moto_as_gcs) -> None:
    check_object(moto_as_gcs, plain(moto_as_gcs))
    assert moto_as_gcs.uri("x") == "gs://data/x"
    listed = request(moto_as_gcs.port, "GET", f"/{moto_as_gcs.bucket}?list-type=2&prefix=folder/")
    assert b"<Key>folder/object.bin</Key>" in listed.body


def test_hub(hub) -> None:
    hub.put("folder/small.txt", b"small")
    hub.put("folder/object.bin", DATA)
    small = request(hub.port, "GET", hub.path("folder/small.txt"))
    assert (small.status, small.body) == (200, b"small") and small.headers["etag"]
    large = request(hub.port, "HEAD", hub.path("folder/object.bin"))
    assert large.status == 302 and large.headers["x-linked-size"] == str(len(DATA))
    _, _, port = large.headers["location"].partition("127.0.0.1:")
    port, slash, rest = port.partition("/")
    assert int(port) != hub.port, "the content lies on another host"
    part = request(int(port), "GET", slash + rest, headers=RANGE)
    assert (part.status, part.body) == (206, DATA[100:300])
    assert request(int(port), "GET", slash + rest, headers={"Authorization": "Bearer x"}).status == 403
    tree = request(hub.port, "GET", f"/api/datasets/{hub.bucket}/tree/main/folder?recursive=true")
    entries = {entry["path"]: entry for entry in json.loads(tree.body)}
    assert entries["folder/object.bin"]["lfs"]["oid"] in large.headers["x-linked-etag"]
    assert "lfs" not in entries["folder/small.txt"]


def test_azurite(azurite) -> None:
    assert isinstance(azurite, Azurite)
    check_object(azurite, lambda key, headers: azurite.signed("GET", f"/{azurite.bucket}/{key}", headers=headers))
    listed = azurite.signed("GET", f"/{azurite.bucket}", "comp=list&prefix=folder/&restype=container")
    assert b"<Name>folder/object.bin</Name>" in listed.body
    assert request(azurite.port, "GET", f"/{azurite.account}/{azurite.bucket}/folder/object.bin").status in (403, 404)


def test_nginx(nginx) -> None:
    check_object(nginx, plain(nginx))
    listed = request(nginx.port, "GET", nginx.path("folder/"))
    assert b"object.bin" in listed.body
    assert request(nginx.port, "GET", nginx.path("folder/object.bin")).headers["etag"]
    assert request(nginx.port, "GET", nginx.path("missing")).status == 404


def test_plain_http(plain_http) -> None:
    plain_http.put("object.bin", DATA)
    reply = request(plain_http.port, "GET", plain_http.path("object.bin"), headers=RANGE)
    assert (reply.status, reply.body) == (200, DATA)
    assert "accept-ranges" not in reply.headers
    with PlainHttp(length=False) as server:
        server.put("object.bin", DATA)
        reply = request(server.port, "GET", server.path("object.bin"))
        assert reply.body == DATA and "content-length" not in reply.headers


def test_proxy(plain_http, proxied) -> None:
    plain_http.put("object.bin", DATA)
    proxy = proxied(plain_http, errors={503: 1}, limit=1, keys=True)
    path = plain_http.path("object.bin")
    slow = request(proxy.port, "GET", path)
    assert slow.status == 503 and b"<Code>SlowDown</Code>" in slow.body
    assert request(proxy.port, "GET", path).body == DATA
    stats = proxy.stats()
    assert (stats["requests"], stats["bytes"], stats["faults"]) == (2, len(DATA), {"errors_503": 1})
    assert stats["keys"] == {f"GET {path}": 2}
    proxy.set(corrupted=1)
    wrong = request(proxy.port, "GET", path).body
    assert len(wrong) == len(DATA) and sum(a != b for a, b in zip(wrong, DATA, strict=True)) == 1
    proxy.reset()
    assert proxy.stats()["requests"] == 0
    with pytest.raises(ValueError, match="unknown field `resetz`"):
        proxy.set(resetz=1)
    with pytest.raises(ValueError, match="no probability"):
        Proxy(plain_http, resets=2)


def test_proxy_before_moto(moto, proxied) -> None:
    """Wrong ranges need a server that gives other ranges."""
    moto.put("object.bin", DATA[:2000])
    proxy = proxied(moto, wrong_bytes=1)
    reply = request(proxy.port, "GET", moto.path("object.bin"), headers=RANGE)
    assert reply.status == 206 and reply.headers["content-range"] == "bytes 100-299/2000"
    assert reply.body == DATA[:200]
    proxy.set(wrong_heads=1)
    reply = request(proxy.port, "GET", moto.path("object.bin"), headers=RANGE)
    assert reply.headers["content-range"] == "bytes 300-499/2000" and reply.body == DATA[100:300]
    proxy.set(whole=1)
    reply = request(proxy.port, "GET", moto.path("object.bin"), headers=RANGE)
    assert (reply.status, reply.body) == (200, DATA[:2000])


STARTS = """
import sys, time
from servers import PlainHttp, Proxy
server = PlainHttp()
proxy = Proxy(server)
print(server._process.pid, proxy._process.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends the children of a killed process")
def test_servers_end_with_a_killed_process() -> None:
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths}
    parent = subprocess.Popen([sys.executable, "-c", STARTS], stdout=subprocess.PIPE, env=environment)
    assert parent.stdout is not None
    children = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(children) == 2
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    until = time.monotonic() + 30
    while any(running(pid) for pid in children):
        assert time.monotonic() < until, children
        time.sleep(0.05)


def running(pid: int) -> bool:
    """Whether a process is there and not just waiting to be collected."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_what_cannot_be_had_says_why(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("INFEED_SERVERS", str(tmp_path))
    monkeypatch.delenv("INFEED_S3S_FS", raising=False)
    with pytest.raises(Unavailable, match=r"s3s-fs is not at .*cargo install"):
        tools.s3s_fs()
    monkeypatch.setattr(tools, "AZURITE", "0.0.0-none")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match=r"(node|npm) is not installed"):
        tools.azurite()


def test_a_folder_that_was_not_finished_is_made_anew(tmp_path) -> None:
    folder = tmp_path / "tool"
    with pytest.raises(Unavailable), tools._made_once(folder) as missing:
        assert missing
        (folder / "half").touch()
        raise Unavailable("no network")
    with tools._made_once(folder) as missing:
        assert missing and not (folder / "half").exists()
    with tools._made_once(folder) as missing:
        assert not missing
