"""Servers of plain files."""

from __future__ import annotations

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
