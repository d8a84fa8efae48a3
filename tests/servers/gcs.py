"""An emulator of Google Cloud Storage."""

from __future__ import annotations

import json
import urllib.parse

from . import tools
from .running import HasPort, Server, expect, request


class GcsEmulator(Server):
    """gcp-storage-emulator: objects in memory, the JSON API, and ``/BUCKET/KEY`` of the XML API without lists."""

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
        # `object_store` reads the endpoint from the file of a service account.
        account = {
            "gcs_base_url": self.endpoint(through),
            "disable_oauth": True,
            "client_email": "",
            "private_key": "",
            "private_key_id": "",
        }
        return {
            "STORAGE_EMULATOR_HOST": self.endpoint(through),
            "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account),
        }
