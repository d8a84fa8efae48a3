"""A server as a process of its own."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol, Self

from .tools import Unavailable

TIED = str(Path(__file__).with_name("tied.py"))


class HasPort(Protocol):
    """A server or a proxy."""

    port: int


@dataclass
class Reply:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def request(
    port: int,
    method: str,
    path: str,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    timeout: float = 60,
) -> Reply:
    """Sends one request to 127.0.0.1. Names in the headers of the reply are in lower case."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        sent = dict(headers or {})
        if body or method in ("PUT", "POST"):
            sent["Content-Length"] = str(len(body))
        connection.request(method, path, body or None, sent)
        answer = connection.getresponse()
        return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def expect(reply: Reply, *statuses: int) -> Reply:
    """The reply, if its status is one of these."""
    if reply.status not in statuses:
        raise RuntimeError(f"the server answered {reply.status}: {reply.body[:500]!r}")
    return reply


def free_port() -> int:
    """A port that nobody listens on, at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(
    command: list[str], *, stdin: int = subprocess.DEVNULL, stdout: int | IO[bytes], stderr: int | IO[bytes]
) -> subprocess.Popen[bytes]:
    """Starts a command that ends with this process."""
    tied = [sys.executable, "-P", TIED, str(os.getpid()), *command]
    return subprocess.Popen(tied, stdin=stdin, stdout=stdout, stderr=stderr)


class Server:
    """A server on a free port of 127.0.0.1 with one bucket."""

    bucket = "data"

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="infeed-server-")
        self.folder = Path(self._folder.name)
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._begin()
            self._prepare()
        except BaseException:
            self.stop()
            raise

    def _command(self, port: int) -> list[str]:
        """What to run."""
        raise NotImplementedError

    def _prepare(self) -> None:
        """Makes the bucket."""

    def put(self, key: str, data: bytes) -> None:
        """Writes an object."""
        raise NotImplementedError

    def path(self, key: str) -> str:
        """Where an object is asked for."""
        return f"/{self.bucket}/{key}"

    def uri(self, key: str) -> str:
        """The name that users give to an object."""
        raise NotImplementedError

    def environment(self, through: HasPort | None = None) -> dict[str, str]:
        """Variables that let clients find the server, or the proxy before it."""
        return {}

    def put_folder(self, folder: str | Path, prefix: str = "") -> list[str]:
        """Writes the files of a folder as objects. Returns their keys."""
        files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        keys = [prefix + path.relative_to(folder).as_posix() for path in files]
        for key, path in zip(keys, files, strict=True):
            self.put(key, path.read_bytes())
        return keys

    def endpoint(self, through: HasPort | None = None) -> str:
        """The URL of the server, or of the proxy before it."""
        return f"http://127.0.0.1:{(through or self).port}"

    def stop(self) -> None:
        """Ends the server."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _begin(self) -> None:
        log = self.folder / "log.txt"
        # Another process may take the port between looking for it and listening.
        for _ in range(3):
            self.port = free_port()
            with log.open("wb") as out:
                self._process = start(self._command(self.port), stdout=out, stderr=subprocess.STDOUT)
            if self._answers():
                return
        said = log.read_text(errors="replace")[-2000:]
        raise Unavailable(f"{type(self).__name__} does not start: {said}")

    def _answers(self) -> bool:
        """Waits until the server answers anything. False if its process ended."""
        assert self._process is not None
        until = time.monotonic() + 90
        while time.monotonic() < until:
            if self._process.poll() is not None:
                return False
            try:
                request(self.port, "GET", "/", timeout=10)
                return True
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
        raise Unavailable(f"{type(self).__name__} does not answer after 90 s")
