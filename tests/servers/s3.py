"""Servers that speak S3."""

from __future__ import annotations

import urllib.parse

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
