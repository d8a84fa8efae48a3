"""A server that speaks like the Hugging Face hub."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from .running import HasPort, Server, free_port


class Hub(Server):
    """Data sets of the hub: listings in pages, redirects to a content server, a token for what is private.

    It is ours, written after the hub's documentation and answers: nothing real can be had without a network.
    """

    bucket = "owner/set"
    revision = "main"
    #: What tests look for where it must not be.
    token = "hf_token-of-the-test-hub-0001"

    def _command(self, port: int) -> list[str]:
        self._root().mkdir(parents=True, exist_ok=True)
        script = str(Path(__file__).with_name("hubserver.py"))
        return [sys.executable, "-P", script, str(port), str(self._root()), str(free_port())]

    def _root(self) -> Path:
        return self.folder / "root"

    def path(self, key: str) -> str:
        return f"/datasets/{self.bucket}/resolve/{self.revision}/{key}"

    def files(self, dataset: str | None = None, revision: str | None = None) -> Path:
        """The folder of a data set at a revision."""
        return self._root() / (dataset or self.bucket) / (revision or self.revision).replace("/", "%2F")

    def put(self, key: str, data: bytes) -> None:
        path = self.files() / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def uri(self, key: str) -> str:
        return f"hf://datasets/{self.bucket}/{key}"

    def environment(self, through: HasPort | None = None) -> dict[str, str]:
        return {"HF_ENDPOINT": self.endpoint(through), "HF_TOKEN": "", "HF_HOME": str(self.folder / "home")}

    def seen(self) -> list[dict[str, Any]]:
        """What the content server was asked: path and headers."""
        notes = self._root() / "seen.jsonl"
        return [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []
