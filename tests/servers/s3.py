"""Servers that speak S3."""

from __future__ import annotations

import json
import sys
import urllib.parse
from pathlib import Path
from typing import Any

from . import tools
from .running import HasPort, Server, expect, request


class _S3(Server):
    """What both have in common: buckets in the path, and credentials."""

    # What tests look for in outputs, where it must not be.
    access_key = "AKIATESTTESTTEST0001"
    secret_key = "secret-of-the-test-server-0001"

    def uri(self, key: str) -> str:
        return f"s3://{self.bucket}/{key}"

    def environment(self, through: HasPort | None = None) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.endpoint(through),
            "AWS_ALLOW_HTTP": "true",
        }


class Moto(_S3):
    """moto: S3 in memory. It does not check signatures; objects can be read without any, because they are public."""

    def _command(self, port: int) -> list[str]:
        return [tools.python(), "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]

    def _prepare(self) -> None:
        self.make_bucket(self.bucket)

    def make_bucket(self, name: str) -> None:
        """Makes another bucket."""
        expect(request(self.port, "PUT", f"/{name}"), 200)

    def put(self, key: str, data: bytes) -> None:
        public = {"x-amz-acl": "public-read"}
        expect(request(self.port, "PUT", self.path(urllib.parse.quote(key)), data, public), 200)


class S3sFs(_S3):
    """s3s-fs: S3 over a folder, fast and with signatures checked. Objects are files."""

    def _command(self, port: int) -> list[str]:
        keys = ["--access-key", self.access_key, "--secret-key", self.secret_key]
        (self.folder / "root" / self.bucket).mkdir(parents=True, exist_ok=True)
        return [tools.s3s_fs(), "--host", "127.0.0.1", "--port", str(port), *keys, str(self.folder / "root")]

    def put(self, key: str, data: bytes) -> None:
        path = self.folder / "root" / self.bucket / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


class Keyed(_S3):
    """Objects of a folder for those with valid keys, which can end: signatures are checked, and there are no listings."""

    def _command(self, port: int) -> list[str]:
        (self.folder / "root" / self.bucket).mkdir(parents=True, exist_ok=True)
        script = str(Path(__file__).with_name("keyed.py"))
        return [sys.executable, "-P", script, str(port), str(self.folder / "root")]

    def put(self, key: str, data: bytes) -> None:
        path = self.folder / "root" / self.bucket / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def set_keys(self, **keys: dict[str, Any]) -> None:
        """Which keys are valid, and for how many requests: ``KEY={"secret": "s", "token": None, "left": 20}``."""
        expect(request(self.port, "PUT", "/__keys", json.dumps(keys).encode()), 200)

    def signed(self) -> dict[str, int]:
        """How many requests each key has signed since."""
        return dict(json.loads(request(self.port, "GET", "/__keys").body))
