"""One connection to one endpoint, through the vendor's client: no redirects, no retries, severable.

The client is imported and made when it is first needed (0.9 s); `Connection.client` may be called from
a thread to have that done while something else takes its time.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agent_security.errors import Aborted, ProviderError
from agent_security.ports import Reply
from agent_security.providers.failures import failure_of, is_html
from agent_security.providers.replies import reply_from_body
from agent_security.providers.streams import Assembly, events

if TYPE_CHECKING:
    import httpx2
    import openai

CONNECT_TIMEOUT_S = 10.0
MAX_ANSWER_BYTES = 32 * 1024 * 1024

_BEGINNINGS = ("connect_tcp.started", "start_tls.started", "send_request_headers.started")
"""Where a severed connection must not go on; its own clean-up may."""

Emit = Callable[[str], None]


class Connection:
    """Everything of one endpoint that can hang, so that another thread can break it."""

    def __init__(self, base_url: str, api_key: str, *, proxy: str = "", ca_file: str = "") -> None:
        self._base_url, self._key, self._proxy, self._ca_file = base_url, api_key, proxy, ca_file
        self._made = threading.Lock()
        self._client: openai.OpenAI | None = None
        self._sockets: list[socket.socket] = []
        self._sockets_known = threading.Lock()
        self._severed = False

    def __repr__(self) -> str:
        return f"Connection({self._base_url!r})"

    def client(self) -> openai.OpenAI:
        """The vendor's client, made once. Raises ProviderError where it cannot be made."""
        with self._made:
            if self._client is None:
                self._client = self._make()
            return self._client

    def sever(self) -> None:
        """Shut every socket down: whoever waits on one gets an error at once. The connection is over."""
        with self._sockets_known:
            self._severed = True
            for sock in self._sockets:
                with contextlib.suppress(OSError):
                    # the base method: TLS must not be unwrapped under the reader's hands
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the client, if there is one."""
        if self._client is not None:
            self._client.close()

    def send(self, body: Mapping[str, Any], timeout_s: float, emit: Emit) -> Reply:
        """One request. Raises ProviderError for whatever goes wrong with it."""
        client = self.client()
        try:
            return self._exchange(client, body, timeout_s, emit)
        except ProviderError:
            raise
        except Exception as error:  # the border: every foreign error becomes one of ours here
            raise self._failure(error) from None
        finally:
            if self._severed:
                client.close()

    # --- inside -----------------------------------------------------------------------------------

    def _make(self) -> openai.OpenAI:
        import openai

        try:
            client = openai.OpenAI(
                base_url=self._base_url,
                api_key=self._key or "none",  # servers without keys ignore it; the client insists on one
                admin_api_key="",
                organization="",
                project="",
                webhook_secret="",
                max_retries=0,
                http_client=self._http_client(),
            )
        except (OSError, ValueError) as error:
            raise ProviderError(f"the connection to {self._host} cannot be set up: {error}") from None
        client.organization = client.project = None  # "" above kept the environment's out
        return client

    def _http_client(self) -> httpx2.Client:
        import ssl

        import httpx2

        return httpx2.Client(
            follow_redirects=False,
            trust_env=False,
            proxy=self._proxy or None,
            verify=ssl.create_default_context(cafile=self._ca_file) if self._ca_file else True,
            event_hooks={"request": [self._watch]},
        )

    def _watch(self, request: httpx2.Request) -> None:
        request.extensions["trace"] = self._trace

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Called by the transport at each of its steps; notes every socket it opens."""
        if self._severed and event.endswith(_BEGINNINGS):
            raise Aborted("the request was given up")
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            sock = info["return_value"].get_extra_info("socket")
            with self._sockets_known:
                self._sockets = [known for known in self._sockets if known.fileno() != -1]
                if isinstance(sock, socket.socket):
                    self._sockets.append(sock)

    def _exchange(
        self, client: openai.OpenAI, body: Mapping[str, Any], timeout_s: float, emit: Emit
    ) -> Reply:
        import httpx2

        timeout = httpx2.Timeout(timeout_s, connect=min(CONNECT_TIMEOUT_S, timeout_s))
        with client.chat.completions.with_streaming_response.create(**body, timeout=timeout) as response:
            chunks = _bounded(response.iter_bytes())
            if "event-stream" in response.headers.get("content-type", ""):
                return _streamed(chunks, emit)
            reply = _plain(response.headers, b"".join(chunks))
        if body.get("stream"):  # a server that cannot stream answers whole
            emit(reply.content)
        return reply

    @property
    def _host(self) -> str:
        return urlsplit(self._base_url).netloc.rpartition("@")[2]

    def _failure(self, error: Exception) -> ProviderError:
        """One clear line for what the vendor's client, or the transport below it, raised."""
        import httpx2
        import openai

        if isinstance(error, openai.APIStatusError):
            answer = error.response
            return failure_of(answer.status_code, answer.headers, answer.content)
        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) and error.__cause__ else error
        why = str(cause).splitlines()[0] if str(cause) else type(cause).__name__
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout):
            for_good = "CERTIFICATE" in why
            return ProviderError(f"cannot reach the endpoint at {self._host}: {why}", retryable=not for_good)
        if isinstance(cause, httpx2.TransportError | OSError):
            return ProviderError(f"the connection to {self._host} broke: {why}", retryable=True)
        return ProviderError(f"the request to {self._host} failed: {why}")


def _bounded(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks, until they are more than any answer."""
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > MAX_ANSWER_BYTES:
            raise ProviderError(f"the endpoint's answer is larger than {MAX_ANSWER_BYTES} bytes")
        yield chunk


def _streamed(chunks: Iterable[bytes], emit: Emit) -> Reply:
    assembly = Assembly()
    for event in events(_lines(chunks)):
        if text := assembly.add(event):
            emit(text)
    return assembly.reply()


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Lines of a stream, cut at line feeds alone: JSON may hold the other separators unescaped."""
    rest: list[bytes] = []
    for chunk in chunks:
        *whole, last = chunk.split(b"\n")
        for line in whole:
            yield b"".join([*rest, line]).rstrip(b"\r").decode("utf-8", errors="replace")
            rest = []
        rest.append(last)
    yield b"".join(rest).decode("utf-8", errors="replace")


def _plain(headers: Mapping[str, str], body: bytes) -> Reply:
    if is_html(headers, body):
        raise ProviderError("the endpoint answered with an HTML page, not JSON: is the base URL right?")
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise ProviderError("the endpoint's answer is no JSON", retryable=True) from None
    return reply_from_body(answer)
