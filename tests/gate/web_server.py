"""A tiny web server on loopback that answers with raw bytes, and a resolver that lets it in."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence

from agent_security.net import PinnedAddress

Answer = bytes | Callable[[socket.socket], None]


def page(body: bytes = b"hello", *, status: str = "200 OK", **headers: str) -> bytes:
    """A whole HTTP answer. Names of headers are written with _ for -."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join([f"HTTP/1.1 {status}", *lines, f"Content-Length: {len(body)}", "Connection: close"])
    return head.encode() + b"\r\n\r\n" + body


class WebServer:
    """Answers by "host/path" of the request, records what it was asked; 404 for the rest."""

    def __init__(self, answers: Mapping[str, Answer], context: ssl.SSLContext | None = None) -> None:
        self.answers, self.context = answers, context
        self.requests: list[bytes] = []
        self.asked: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> WebServer:
        return self

    def __exit__(self, *error: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def resolver(self, host: str, port: int) -> Sequence[str]:
        """Every name stands for this server; made by code, so it may be loopback."""
        self.asked.append(host)
        return [PinnedAddress("127.0.0.1", port=self.port)]

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        try:
            if self.context is not None:
                connection = self.context.wrap_socket(connection, server_side=True)
            request = b""
            while b"\r\n\r\n" not in request and (part := connection.recv(65536)):
                request += part
            self.requests.append(request)
            answer = self.answers.get(_key(request), page(b"", status="404 Not Found"))
            answer(connection) if callable(answer) else connection.sendall(answer)
        except OSError:
            pass
        finally:
            connection.close()


def _key(request: bytes) -> str:
    lines = request.decode("latin-1").split("\r\n")
    host = next((line[6:] for line in lines if line.lower().startswith("host: ")), "")
    return host + lines[0].split(" ")[1]
