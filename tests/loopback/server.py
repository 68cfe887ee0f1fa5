"""A chat.completions server on loopback that plays its part, and the faults of real providers.

As a program:

    python tests/loopback/server.py --port 8111 acts.json
    python tests/loopback/server.py --port 0 '["hello", {"fault": "429", "retry_after": 2}, "again"]'

Each request takes the next act; after the last one the server says "(no more acts)". An act is a text, or:

    {"say": "text"}   {"call": {"read_file": {"path": "a"}}}   {"calls": [...]}
    {"message": {...}, "finish_reason": "stop", "usage": {...} | null}   an assistant message as it stands
    {"body": ...}                                                        a whole answer, whatever it is
    {"fault": NAME, ...}                                                 one of FAULTS

Streams where the request asks for it. `"usage_in": "first" | "middle" | "last" | "own_chunk" | "none"` moves
the usage of a stream.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from loopback_acts import FAULTS, USAGE, Act, answer_of, chunks_of


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gave up is nothing to report; anything else is."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class LoopbackServer:
    """The server in a thread; `with LoopbackServer(acts) as server: server.base_url`."""

    def __init__(self, acts: Sequence[Act] = (), *, port: int = 0) -> None:
        self.acts = list(acts)
        self.requests: list[dict[str, Any]] = []
        """Bodies of the requests so far."""
        self.headers: list[dict[str, str]] = []
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._http = _QuietServer(("127.0.0.1", port), _handler_of(self))

    @property
    def port(self) -> int:
        return self._http.server_address[1]

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def next_act(self, body: dict[str, Any], headers: dict[str, str]) -> Act:
        with self._lock:
            self.requests.append(body)
            self.headers.append(headers)
            return self.acts.pop(0) if self.acts else "(no more acts)"

    def serve_forever(self) -> None:
        self._http.serve_forever(poll_interval=0.02)

    def __enter__(self) -> LoopbackServer:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()


def _handler_of(server: LoopbackServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            return None

        def do_GET(self) -> None:
            models = {"models": [{"name": "loopback"}], "data": [{"id": "loopback"}]}
            self._send(200, models)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            act = server.next_act(body, {key.lower(): value for key, value in self.headers.items()})
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self._play(act, body)

        def _play(self, act: Act, body: dict[str, Any]) -> None:
            fault = act.get("fault") if isinstance(act, dict) else None
            if fault == "stream_options" and "stream_options" not in body:
                act, fault = server.next_act(body, {}), None
            if fault:
                self._fail(fault, act, streams=bool(body.get("stream")))
            elif body.get("stream") and not (isinstance(act, dict) and ("body" in act or act.get("plain"))):
                self._stream(act)
            else:
                self._send(200, answer_of(act))

        def _fail(self, fault: str, act: dict[str, Any], *, streams: bool) -> None:
            error = {"error": {"message": act.get("message", f"fault {fault}"), "type": "fault"}}
            if fault in ("429", "400", "500", "529"):
                wait = {"Retry-After": str(act["retry_after"])} if "retry_after" in act else {}
                self._send(int(fault), error, headers=wait)
            elif fault == "401":
                error["error"]["message"] = f"wrong key: {self.headers.get('Authorization')}"
                self._send(401, error)
            elif fault == "502":
                self._send(502, b"<html><body>Bad Gateway</body></html>", kind="text/html")
            elif fault == "html":
                self._send(200, b"<!doctype html><title>Sign in</title>", kind="text/html")
            elif fault == "redirect":
                self._send(307, b"", headers={"Location": act["location"]})
            elif fault == "no_json":
                self._send(200, b'{"choices": [{"mess', kind="application/json")
            elif fault == "empty_choices":
                self._send(200, {"choices": [], "usage": USAGE})
            elif fault == "error_in_body":
                self._send(200, error)
            elif fault == "too_long":
                error["error"] |= {
                    "code": "context_length_exceeded",
                    "message": "maximum context length is 1",
                }
                self._send(400, error)
            elif fault == "stream_options":
                error["error"]["message"] = "unknown field stream_options"
                self._send(400, error)
            else:
                self._hang(fault, streams=streams)

        def _hang(self, fault: str, *, streams: bool) -> None:
            """The faults that leave a client waiting, or cut off."""
            self.close_connection = True
            if fault == "hangup":
                return
            if fault == "silence":
                server.closing.wait(60)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream" if streams else "application/json")
            self.send_header("Content-Length", "100000")
            self.end_headers()
            first = next(chunks_of("a beginning"))
            self.wfile.write(b"data: " + json.dumps(first).encode() + b"\n\n" if streams else b'{"id": "x",')
            self.wfile.flush()
            ends_at = time.monotonic() + 60
            while fault == "stalled_stream" and not server.closing.wait(0.05) and time.monotonic() < ends_at:
                self.wfile.write(b": still here\n\n" if streams else b" ")
                self.wfile.flush()

        def _stream(self, act: Act) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for chunk in chunks_of(act):
                self._write(b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n")
            self._write(b"data: [DONE]\n\n")
            self._write(b"")

        def _write(self, data: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

        def _send(
            self,
            status: int,
            body: Any,
            *,
            kind: str = "application/json",
            headers: dict[str, str] | None = None,
        ) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

    return Handler


def _acts_from(argument: str) -> list[Act]:
    if argument.lstrip().startswith("["):
        return list(json.loads(argument))
    with open(argument, encoding="utf-8") as file:
        return list(json.load(file))


def main(argv: Sequence[str] | None = None) -> int:
    faults = "\n".join(f"  {name:15} {what}" for name, what in FAULTS.items())
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"faults:\n{faults}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("acts", nargs="?", default="[]", help="a JSON list, or a file that holds one")
    parser.add_argument("--port", type=int, default=8111)
    options = parser.parse_args(argv)
    server = LoopbackServer(_acts_from(options.acts), port=options.port)
    print(server.base_url, flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
