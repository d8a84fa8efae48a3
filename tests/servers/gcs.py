"""Servers that speak like Google Cloud Storage."""

from __future__ import annotations

import json
import urllib.parse
from pathlib import Path

from . import tools
from .running import HasPort, Server, expect, request
from .s3 import Moto


def _account(endpoint: str) -> dict[str, str]:
    """The file of a service account without keys, which is where `object_store` finds the endpoint."""
    account = {
        "gcs_base_url": endpoint,
        "disable_oauth": True,
        "client_email": "",
        "private_key": "",
        "private_key_id": "",
    }
    return {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account)}


class MotoAsGcs(Moto):
    """moto's S3 under the names of Google's storage.

    Google's XML API, which `object_store` speaks, is S3's in paths, lists, ranges and tags. What only Google has (tokens,
    generations, signatures) is not tested by it.
    """

    def _command(self, port: int) -> list[str]:
        return [tools.python(), "-P", str(Path(__file__).with_name("motoasgcs.py")), str(port)]

    def uri(self, key: str) -> str:
        return f"gs://{self.bucket}/{key}"

    def environment(self, through: HasPort | None = None) -> dict[str, str]:
        return _account(self.endpoint(through))


class GcsEmulator(Server):
    """gcp-storage-emulator: objects in memory, the JSON API, and ``/BUCKET/KEY`` of the XML API without lists.

    Not for `gs://`, whose lists are those of the XML API: `MotoAsGcs` is.
    """

    def _command(self, port: int) -> list[str]:
        options = [
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--in-memory",
            "--quiet",
            "--default-bucket",
            self.bucket,
        ]
        return [tools.python(), "-m", "gcp_storage_emulator", "start", *options]

    def uri(self, key: str) -> str:
        return f"gs://{self.bucket}/{key}"

    def put(self, key: str, data: bytes) -> None:
        name = urllib.parse.quote(key, safe="")
        path = f"/upload/storage/v1/b/{self.bucket}/o?uploadType=media&name={name}"
        expect(request(self.port, "POST", path, data, {"Content-Type": "application/octet-stream"}), 200)

    def environment(self, through: HasPort | None = None) -> dict[str, str]:
        return {"STORAGE_EMULATOR_HOST": self.endpoint(through), **_account(self.endpoint(through))}
