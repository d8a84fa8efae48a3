"""Servers as fixtures, one of each for a whole run. A test uses a prefix of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from .azure import Azurite
from .gcs import GcsEmulator, MotoAsGcs
from .hub import Hub
from .proxy import Proxy
from .running import HasPort, Server
from .s3 import Keyed, Moto, S3sFs
from .tools import Unavailable
from .web import Nginx, PlainHttp, TlsHttp


def _running(kind: Callable[[], Server]) -> Iterator[Server]:
    try:
        server = kind()
    except Unavailable as reason:
        pytest.skip(str(reason))
    with server:
        yield server


@pytest.fixture(scope="session")
def moto() -> Iterator[Server]:
    yield from _running(Moto)


@pytest.fixture(scope="session")
def s3s_fs() -> Iterator[Server]:
    yield from _running(S3sFs)


@pytest.fixture(scope="session")
def gcs_emulator() -> Iterator[Server]:
    yield from _running(GcsEmulator)


@pytest.fixture(scope="session")
def moto_as_gcs() -> Iterator[Server]:
    yield from _running(MotoAsGcs)


@pytest.fixture(scope="session")
def hub() -> Iterator[Server]:
    yield from _running(Hub)


@pytest.fixture(scope="session")
def azurite() -> Iterator[Server]:
    yield from _running(Azurite)


@pytest.fixture(scope="session")
def nginx() -> Iterator[Server]:
    yield from _running(Nginx)


@pytest.fixture(scope="session")
def plain_http() -> Iterator[Server]:
    yield from _running(PlainHttp)


@pytest.fixture(scope="session")
def tls_http() -> Iterator[Server]:
    yield from _running(TlsHttp)


@pytest.fixture(scope="session")
def keyed() -> Iterator[Server]:
    yield from _running(Keyed)


@pytest.fixture
def proxied() -> Iterator[Callable[..., Proxy]]:
    """Puts a proxy before a server: ``proxied(moto, latency_ms=30)``. It ends with the test."""
    started: list[Proxy] = []

    def put_before(server: HasPort, **faults: Any) -> Proxy:
        started.append(Proxy(server, **faults))
        return started[-1]

    yield put_before
    for proxy in started:
        proxy.stop()
