"""An emulator of Azure's blob storage."""

from __future__ import annotations

import base64
import hashlib
import hmac
import urllib.parse
from email.utils import formatdate

from . import tools
from .running import HasPort, Reply, Server, expect, request


class Azurite(Server):
    """azurite: the blob service, with signatures checked. The account and its key are the same in all emulators."""

    account = "devstoreaccount1"
    key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

    def _command(self, port: int) -> list[str]:
        quiet = ["--silent", "--disableTelemetry", "--skipApiVersionCheck", "--inMemoryPersistence"]
        return [*tools.azurite(), "--blobHost", "127.0.0.1", "--blobPort", str(port), *quiet]

    def _prepare(self) -> None:
        expect(self.signed("PUT", f"/{self.bucket}", "restype=container"), 201)

    def uri(self, key: str) -> str:
        return f"az://{self.bucket}/{key}"

    def put(self, key: str, data: bytes) -> None:
        path = f"/{self.bucket}/{urllib.parse.quote(key)}"
        expect(self.signed("PUT", path, body=data, headers={"x-ms-blob-type": "BlockBlob"}), 201)

    def environment(self, through: HasPort | None = None) -> dict[str, str]:
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": self.account,
            "AZURE_STORAGE_ACCOUNT_KEY": self.key,
            "AZURE_STORAGE_ENDPOINT": f"{self.endpoint(through)}/{self.account}",
            "AZURE_ALLOW_HTTP": "true",
        }

    def signed(
        self, method: str, path: str, query: str = "", body: bytes = b"", headers: dict[str, str] | None = None
    ) -> Reply:
        """A request with the account's signature. The path is that below the account."""
        sent = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02", **(headers or {})}
        low = {name.lower(): value for name, value in sent.items()}
        path = f"/{self.account}{path}"
        names = ["content-encoding", "content-language", "content-length", "content-md5", "content-type", "date"]
        names += ["if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"]
        fields = {**low, "content-length": str(len(body)) if body else ""}
        lines = [method, *(fields.get(name, "") for name in names)]
        lines += [f"{name}:{low[name]}" for name in sorted(low) if name.startswith("x-ms-")]
        resource = f"/{self.account}{path}"
        resource += "".join(f"\n{name}:{value}" for name, value in sorted(urllib.parse.parse_qsl(query)))
        text = "\n".join([*lines, resource])
        digest = hmac.new(base64.b64decode(self.key), text.encode(), hashlib.sha256).digest()
        sent["Authorization"] = f"SharedKey {self.account}:{base64.b64encode(digest).decode()}"
        return request(self.port, method, path + (f"?{query}" if query else ""), body, sent)
