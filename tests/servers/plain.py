"""Serves a folder without ranges: ``plain.py PORT FOLDER [--no-length]``."""

import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Handler(SimpleHTTPRequestHandler):
    """Python's handler knows no ranges; it only must not promise them, and keep connections."""

    protocol_version = "HTTP/1.1"
    tell_length = True

    def send_header(self, keyword: str, value: str) -> None:
        if keyword == "Content-Length" and not self.tell_length:
            # Then only the end of the connection ends the body.
            keyword, value = "Connection", "close"
        super().send_header(keyword, value)

    def log_message(self, format: str, *args: Any) -> None:
        pass


if __name__ == "__main__":
    Handler.tell_length = "--no-length" not in sys.argv

    def handler(*args: Any) -> Handler:
        return Handler(*args, directory=sys.argv[2])

    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), handler).serve_forever()
