"""A page on loopback for the demo, and a list of every request that reached it."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class PageServer:
    """Serves one page to anyone who reaches 127.0.0.1; what arrives otherwise is a leak."""

    def __init__(self, path: str, html: str) -> None:
        self.requests: list[str] = []
        requests, body = self.requests, html.encode()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                requests.append(f"GET {self.path}")
                self.send_response(200 if self.path == path else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(body if self.path == path else b"")

            def do_POST(self) -> None:
                requests.append(f"POST {self.path}")
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                return None

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        return self._server.server_port

    def __enter__(self) -> PageServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
