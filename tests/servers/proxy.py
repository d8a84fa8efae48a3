"""The proxy of the command ``infeed``, before a server."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any, Self

from .running import HasPort, expect, request, start


class Proxy:
    """``infeed proxy`` before a server. Faults are those of ``infeed proxy --faults``: ``latency_ms=30``, ``seed=1``,
    ``tail={"rate": 0.01, "ms": 600}``, ``stalls={"rate": 0.01, "seconds": 5}``, ``errors={503: 0.005}``, ``resets=0.01``,
    ``bandwidth=1e8``, and so on.
    """

    def __init__(self, server: HasPort, **faults: Any) -> None:
        to = f"127.0.0.1:{server.port}"
        command = [sys.executable, "-m", "infeed", "proxy", "--to", to, "--until-eof", "--faults", json.dumps(faults)]
        pipe = subprocess.PIPE
        self._process = start(command, stdin=pipe, stdout=pipe, stderr=pipe)
        assert self._process.stdout is not None
        first = self._process.stdout.readline()
        if not first:
            _, said = self._process.communicate()
            raise ValueError(said.decode().strip())
        self.port = int(first)

    def stats(self) -> dict[str, Any]:
        """What has passed: requests, bytes, statuses, faults, most_in_flight, keys (with ``keys=True``)."""
        return self._ask("GET", "stats")

    def reset(self) -> None:
        """Counts anew."""
        self._ask("POST", "reset")

    def settle(self) -> None:
        """Counts anew once nothing passes any more: requests that nobody wants any more end in their own time."""
        before = -1
        for _ in range(100):
            now = self.stats()["bytes"]
            if now == before:
                break
            before = now
            time.sleep(0.3)
        self.reset()

    def set(self, **faults: Any) -> None:
        """Injects these faults instead of those before."""
        self._ask("POST", "faults", json.dumps(faults).encode())

    def _ask(self, method: str, what: str, body: bytes = b"") -> dict[str, Any]:
        reply = request(self.port, method, f"/__proxy/{what}", body)
        if reply.status == 400:
            raise ValueError(json.loads(reply.body)["error"])
        return dict(json.loads(expect(reply, 200).body))

    def stop(self) -> None:
        """Ends the proxy."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
