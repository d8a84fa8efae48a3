"""The parts of the Hugging Face hub that data sets are read with: ``hubserver.py PORT FOLDER CONTENT_PORT``.

Two servers of one process: the hub lists files and redirects to the content server, which has the bytes, as the real
hub does for large files. Small files come from the hub itself. ``FOLDER/OWNER/NAME/REVISION/PATH`` are the files. Data
sets of the owner ``private`` need the token; those of ``before`` have moved to ``owner``. The content server notes the
headers of its requests in ``FOLDER/seen.jsonl``.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(sys.argv[2])
CONTENT = int(sys.argv[3])
TOKEN = "hf_token-of-the-test-hub-0001"
#: Files of this many bytes are large: they are kept by the content server.
LARGE = 1000
#: Names on a page of a listing.
PAGE = 500
#: How long the address of a content is good for, in seconds.
GOOD_FOR = 3600


def tag(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def content(self, path: Path, **headers: str) -> None:
        """A file, or the range of it that is asked for."""
        body = path.read_bytes()
        asked = self.headers.get("Range", "")
        if not asked.startswith("bytes="):
            self.answer(200, body, Accept_Ranges="bytes", **headers)
            return
        first, _, last = asked[6:].partition("-")
        start, stop = int(first), min(int(last or len(body) - 1) + 1, len(body))
        if start >= len(body):
            self.answer(416, b"", Content_Range=f"bytes */{len(body)}")
            return
        told = f"bytes {start}-{stop - 1}/{len(body)}"
        self.answer(206, body[start:stop], Content_Range=told, Accept_Ranges="bytes", **headers)


class Hub(Handler):
    """Lists and redirects."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        address = urllib.parse.urlsplit(self.path)
        parts = address.path.split("/")
        if parts[1:3] == ["api", "datasets"] and len(parts) > 6 and parts[5] == "tree":
            owner, name, revision = parts[3], parts[4], urllib.parse.unquote(parts[6])
            self.tree(owner, name, revision, "/".join(parts[7:]), urllib.parse.parse_qs(address.query))
        elif parts[1:2] == ["datasets"] and len(parts) > 6 and parts[4] == "resolve":
            owner, name, revision = parts[2], parts[3], urllib.parse.unquote(parts[5])
            self.resolve(owner, name, revision, urllib.parse.unquote("/".join(parts[6:])))
        else:
            self.answer(404)

    def allowed(self, owner: str) -> bool:
        if owner == "before":
            # A data set that has another owner now: the hub says so with a relative address.
            self.answer(307, b"moved", Location=self.path.replace("/before/", "/owner/"))
            return False
        if owner != "private" or self.headers.get("Authorization") == f"Bearer {TOKEN}":
            return True
        self.answer(401, b'{"error": "Invalid username or password."}', X_Error_Code="RepoNotFound")
        return False

    def tree(self, owner: str, name: str, revision: str, folder: str, query: dict[str, list[str]]) -> None:
        if not self.allowed(owner):
            return
        root = ROOT / owner / name / revision.replace("/", "%2F")
        if not (root / folder).is_dir():
            self.answer(404, b'{"error": "Entry not found"}', X_Error_Code="EntryNotFound")
            return
        paths = sorted((root / folder).rglob("*") if query.get("recursive") else (root / folder).iterdir())
        first = int(query.get("cursor", ["0"])[0])
        entries: list[dict[str, Any]] = []
        for path in paths[first : first + PAGE]:
            entry: dict[str, Any] = {"path": path.relative_to(root).as_posix(), "size": 0, "oid": "0" * 40}
            entry["type"] = "directory" if path.is_dir() else "file"
            if path.is_file():
                entry["size"] = path.stat().st_size
                entry["oid"] = hashlib.sha1(path.read_bytes()).hexdigest()
                if entry["size"] >= LARGE:
                    entry["lfs"] = {"oid": tag(path), "size": entry["size"], "pointerSize": 130}
            entries.append(entry)
        headers = {}
        if first + PAGE < len(paths):
            port = self.server.server_address[1]
            where = f"http://127.0.0.1:{port}{urllib.parse.urlsplit(self.path).path}"
            headers["Link"] = f'<{where}?recursive=true&cursor={first + PAGE}>; rel="next"'
        self.answer(200, json.dumps(entries).encode(), **headers)

    def resolve(self, owner: str, name: str, revision: str, key: str) -> None:
        if not self.allowed(owner):
            return
        path = ROOT / owner / name / revision.replace("/", "%2F") / key
        if not path.is_file():
            self.answer(404, b"Entry not found", X_Error_Code="EntryNotFound")
            return
        if path.stat().st_size < LARGE:
            self.content(path, ETag=f'"{hashlib.sha1(path.read_bytes()).hexdigest()}"')
            return
        until = int(time.time()) + GOOD_FOR
        where = f"http://127.0.0.1:{CONTENT}/{urllib.parse.quote(path.relative_to(ROOT).as_posix())}?until={until}"
        sized = {"X_Linked_Size": str(path.stat().st_size), "X_Linked_ETag": f'"{tag(path)}"'}
        self.answer(302, b"", Location=where, **sized)


class Content(Handler):
    """Has the bytes, and knows nobody."""

    def do_GET(self) -> None:
        address = urllib.parse.urlsplit(self.path)
        with NOTES, (ROOT / "seen.jsonl").open("a") as seen:
            seen.write(json.dumps({"path": address.path, **dict(self.headers)}) + "\n")
        until = int(urllib.parse.parse_qs(address.query).get("until", ["0"])[0])
        # Another server takes a token for a wrong signature, too.
        if until < time.time() or "Authorization" in self.headers:
            self.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
            return
        path = ROOT / urllib.parse.unquote(address.path).lstrip("/")
        if path.is_file():
            self.content(path, ETag='"of-the-content-server"')
        else:
            self.answer(404)


NOTES = threading.Lock()

if __name__ == "__main__":
    content = ThreadingHTTPServer(("127.0.0.1", CONTENT), Content)
    threading.Thread(target=content.serve_forever, daemon=True).start()
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Hub).serve_forever()
