"""Real servers for tests and benchmarks, and the proxy that injects faults before them.

Each server listens on a free port of 127.0.0.1, has one bucket (container, folder), and ends with the process that
started it, even if that is killed. What is missing on this machine is installed into a cache folder (``INFEED_SERVERS``)
when it is first used; what cannot be had raises `Unavailable`, and the fixtures in `servers.fixtures` skip the test with
the reason.

    from servers import Moto, Proxy

    with Moto() as server, Proxy(server, latency_ms=30, resets=0.01) as proxy:
        server.put_folder("shards/")
        environment = server.environment(proxy)  # credentials, and the proxy as the endpoint
        ... server.uri("train-000.tar") ...
        proxy.stats()["requests"]
"""

from .azure import Azurite
from .gcs import GcsEmulator, MotoAsGcs
from .hub import Hub
from .proxy import Proxy
from .running import Reply, Server, request
from .s3 import Keyed, Moto, S3sFs
from .tools import Unavailable
from .web import Nginx, PlainHttp, TlsHttp

__all__ = [
    "Azurite",
    "GcsEmulator",
    "Hub",
    "Keyed",
    "Moto",
    "MotoAsGcs",
    "Nginx",
    "PlainHttp",
    "Proxy",
    "Reply",
    "S3sFs",
    "Server",
    "TlsHttp",
    "Unavailable",
    "request",
]
