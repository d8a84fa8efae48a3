"""Servers of plain files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from . import tools
from .running import HasPort, Server

CONFIGURATION = """
daemon off;
# One process, which ends as a whole.
master_process off;
pid {folder}/nginx.pid;
error_log stderr error;
events {{ worker_connections 2048; }}
http {{
    access_log off;
    sendfile on;
    keepalive_requests 1000000;
    types {{}}
    default_type application/octet-stream;
    client_body_temp_path {folder}/tmp;
    proxy_temp_path {folder}/tmp;
    fastcgi_temp_path {folder}/tmp;
    uwsgi_temp_path {folder}/tmp;
    scgi_temp_path {folder}/tmp;
    server {{ listen 127.0.0.1:{port}; root {folder}/root; autoindex on; }}
}}
"""


class _Files(Server):
    """Objects are the files of a folder, ``root``."""

    bucket = "data"

    def put(self, key: str, data: bytes) -> None:
        path = self.folder / "root" / self.bucket / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def uri(self, key: str, through: HasPort | None = None) -> str:
        return self.endpoint(through) + self.path(key)

    def _root(self) -> Path:
        root = self.folder / "root"
        (root / self.bucket).mkdir(parents=True, exist_ok=True)
        return root


class Nginx(_Files):
    """nginx: ranges, entity tags, lists of folders as HTML."""

    def _command(self, port: int) -> list[str]:
        self._root()
        (self.folder / "tmp").mkdir(exist_ok=True)
        configuration = self.folder / "nginx.conf"
        configuration.write_text(CONFIGURATION.format(folder=self.folder, port=port))
        return [tools.program("nginx"), "-p", str(self.folder), "-e", "stderr", "-c", str(configuration)]


class PlainHttp(_Files):
    """A server without ranges: every answer is the whole file. With ``length=False`` it does not tell lengths, either."""

    def __init__(self, *, length: bool = True) -> None:
        self._length = length
        super().__init__()

    def _command(self, port: int) -> list[str]:
        script = str(Path(__file__).with_name("plain.py"))
        root = str(self._root())
        return [sys.executable, "-P", script, str(port), root, *([] if self._length else ["--no-length"])]


class TlsHttp(_Files):
    """A server with ranges whose certificate nobody knows; the certificate is the file ``certificate``."""

    certificate: Path

    def _command(self, port: int) -> list[str]:
        self.certificate = self.folder / "own.pem"
        # For one address, and not an authority: what a server of one's own usually has.
        names = ["subjectAltName=IP:127.0.0.1", "basicConstraints=critical,CA:FALSE"]
        command = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        command += ["-days", "2", "-subj", "/CN=tests", *(word for name in names for word in ("-addext", name))]
        command += ["-keyout", str(self.folder / "own.key"), "-out", str(self.certificate)]
        subprocess.run([tools.program("openssl"), *command], check=True, capture_output=True)
        self._root()
        (self.folder / "tmp").mkdir(exist_ok=True)
        secure = f"ssl; ssl_certificate {self.certificate}; ssl_certificate_key {self.folder}/own.key"
        text = CONFIGURATION.format(folder=self.folder, port=port).replace(
            f"127.0.0.1:{port}", f"127.0.0.1:{port} {secure}"
        )
        configuration = self.folder / "nginx.conf"
        configuration.write_text(text)
        return [tools.program("nginx"), "-p", str(self.folder), "-e", "stderr", "-c", str(configuration)]

    def endpoint(self, through: HasPort | None = None) -> str:
        return super().endpoint(through).replace("http://", "https://")
