"""Serves a folder as S3 would to whoever has valid keys: ``keyed.py PORT FOLDER``.

Signatures are checked (version 4, of the headers). ``PUT /__keys`` sets which keys there are, as JSON:
``{"KEY": {"secret": "...", "token": "...", "left": 20, "then": "ExpiredToken"}}``. After ``left`` requests the key is
refused with the code ``then``. ``GET /__keys`` tells how many requests each key has signed.
"""

import hashlib
import hmac
import json
import os
import re
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

KEYS: dict[str, dict[str, Any]] = {}
SIGNED: dict[str, int] = {}
LOCK = threading.Lock()
STATUS = {"ExpiredToken": 400, "InvalidToken": 400}
MESSAGES = {
    "AccessDenied": "Access Denied",
    "ExpiredToken": "The provided token has expired.",
    "InvalidToken": "The provided token is malformed or otherwise invalid.",
    "InvalidAccessKeyId": "The AWS Access Key Id you provided does not exist in our records.",
    "SignatureDoesNotMatch": "The request signature we calculated does not match the signature you provided.",
    "NoSuchKey": "The specified key does not exist.",
    "PreconditionFailed": "At least one of the preconditions you specified did not hold.",
}


def signature(method: str, path: str, headers: Any, secret: str, scope: str, names: list[str]) -> str:
    """The signature of a request, version 4."""
    bare, _, query = path.partition("?")
    pairs = sorted(urllib.parse.parse_qsl(query, keep_blank_values=True))
    quote = urllib.parse.quote
    sorted_query = "&".join(f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in pairs)
    lines = "".join(f"{name}:{' '.join(headers.get(name, '').split())}\n" for name in names)
    request = "\n".join([method, bare, sorted_query, lines, ";".join(names), headers["x-amz-content-sha256"]])
    date, region, service, end = scope.split("/")
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, digest])
    key = f"AWS4{secret}".encode()
    for part in (date, region, service, end, text):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key.hex()


class Handler(BaseHTTPRequestHandler):
    """Objects of a folder, by GET and HEAD with ranges."""

    protocol_version = "HTTP/1.1"
    folder = Path()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content_Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, code: str, status: int | None = None) -> None:
        text = f"<Error><Code>{code}</Code><Message>{MESSAGES[code]}</Message></Error>"
        self.answer(status or STATUS.get(code, 403), text.encode(), Content_Type="application/xml")

    def wrong(self) -> str | None:
        """The code of what is wrong with the keys of this request."""
        given = self.headers.get("Authorization", "")
        found = re.fullmatch(
            r"AWS4-HMAC-SHA256 Credential=([^/]+)/([^,]+), *SignedHeaders=([^,]+), *Signature=(\w+)", given
        )
        if found is None:
            return "AccessDenied"
        name, scope, names, signed = found.groups()
        with LOCK:
            key = KEYS.get(name)
            if key is None:
                return "InvalidAccessKeyId"
            if signature(self.command, self.path, self.headers, key["secret"], scope, names.split(";")) != signed:
                return "SignatureDoesNotMatch"
            if self.headers.get("x-amz-security-token") != key.get("token"):
                return "InvalidToken"
            SIGNED[name] = SIGNED.get(name, 0) + 1
            if SIGNED[name] > key.get("left", sys.maxsize):
                return str(key.get("then", "ExpiredToken"))
        return None

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/__keys":
            with LOCK:
                KEYS.clear()
                KEYS.update(json.loads(body))
                SIGNED.clear()
        self.answer(200)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        if self.path == "/__keys":
            self.answer(200, json.dumps(SIGNED).encode())
            return
        if (code := self.wrong()) is not None:
            self.refuse(code)
            return
        path = self.folder / urllib.parse.unquote(self.path).lstrip("/")
        if not path.is_file():
            self.refuse("NoSuchKey", 404)
            return
        about = os.stat(path)
        tag = f'"{about.st_mtime_ns:x}-{about.st_size:x}"'
        if self.headers.get("If-Match", tag) != tag:
            self.refuse("PreconditionFailed", 412)
            return
        data, status = path.read_bytes(), 200
        told = {"ETag": tag, "Last_Modified": self.date_time_string(int(about.st_mtime)), "Accept_Ranges": "bytes"}
        if span := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "")):
            first, last = int(span[1]), min(int(span[2]), len(data) - 1)
            told["Content_Range"] = f"bytes {first}-{last}/{len(data)}"
            data, status = data[first : last + 1], 206
        if self.command == "HEAD":
            self.send_response(200)
            for name, value in {"Content_Length": str(len(data)), **told}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            return
        self.answer(status, data, **told)


if __name__ == "__main__":
    Handler.folder = Path(sys.argv[2])
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
