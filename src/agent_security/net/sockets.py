"""Connections to addresses that were judged, with one deadline for the whole request (§2.3, D10).

With `net.py` the only place on the host that resolves names or opens sockets for tools. Every
wait is cut into slices, so that a deadline or a `stop` is obeyed while a server drips bytes.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_security.decision import Check
from agent_security.errors import NetError
from agent_security.net.addresses import judge_addresses
from agent_security.net.urls import Url
from agent_security.ports import Resolver

__all__ = ["Deadline", "PinnedAddress", "Stream", "judge_answers", "open_stream", "resolve"]

_SLICE_S = 0.1


class PinnedAddress(str):
    """An address that code, and only code, declares trusted: loopback included.

    A resolver that a program constructs may answer with one (`PinnedAddress("127.0.0.1", port=8123)`),
    so that a demonstration or a test can serve a "public" page from this machine. Text can never
    become one: nothing in this package builds it from settings, from a file or from a model's words,
    and an ordinary string "127.0.0.1" in the same answer is refused. The URL's letters are judged
    all the same. `port` replaces the URL's own port where it is set.
    """

    port: int | None

    def __new__(cls, address: str, *, port: int | None = None) -> PinnedAddress:
        pinned = super().__new__(cls, address)
        pinned.port = port
        return pinned


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock, and a caller who may want to stop earlier."""

    ends: float
    stop: Callable[[], bool] | None = None

    @classmethod
    def after(cls, seconds: float, stop: Callable[[], bool] | None = None) -> Deadline:
        return cls(time.monotonic() + seconds, stop)

    def slice_s(self) -> float:
        """How long the next wait may take. Raises NetError when time is up or the caller said stop."""
        if self.stop is not None and self.stop():
            raise NetError("fetch_stopped", "the fetch was told to stop")
        left = self.ends - time.monotonic()
        if left <= 0:
            raise NetError("fetch_timeout", "the fetch took longer than its deadline")
        return min(left, _SLICE_S)


def system_resolver(host: str, port: int) -> list[str]:
    """Every address the system knows for a host. Raises OSError where there is none."""
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(answer[4][0]) for answer in answers))


def resolve(url: Url, resolver: Resolver | None, deadline: Deadline) -> Sequence[str]:
    """The judged addresses of a URL's host. Raises NetError where one of them is not public."""
    answers = (url.host,) if url.is_address else _ask(resolver or system_resolver, url, deadline)
    check = judge_answers(answers)
    if not check.ok:
        raise NetError(check.code, check.sentence)
    return answers


def judge_answers(answers: Sequence[str]) -> Check:
    """`judge_addresses` for all that is text; what code pinned is trusted."""
    plain = [address for address in answers if type(address) is not PinnedAddress]
    return Check(True) if answers and not plain else judge_addresses(plain)


def _ask(resolver: Resolver, url: Url, deadline: Deadline) -> Sequence[str]:
    """Ask on a thread of its own: a resolver cannot be interrupted, but it can be left behind."""
    answers: list[Sequence[str]] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            answers.append(tuple(resolver(url.host, url.port)))
        except BaseException as error:  # told to the waiting thread, whatever it was
            errors.append(error)

    thread = threading.Thread(target=work, name="resolve", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(deadline.slice_s())
    if errors or not answers:
        raise NetError("unresolved", f"{url.host} does not resolve")
    return answers[0]


def open_stream(url: Url, addresses: Sequence[str], deadline: Deadline) -> Stream:
    """Connect to the first judged address that answers; TLS is checked against the URL's host."""
    problem = "no address"
    for address in addresses:
        port = address.port if type(address) is PinnedAddress and address.port else url.port
        try:
            connection = _connect(str(address), port, deadline)
        except OSError as error:
            problem = error.strerror or type(error).__name__
            continue
        try:
            wire = _wrap(connection, url, deadline) if url.scheme == "https" else connection
            return Stream(wire, deadline, str(address))
        except BaseException:
            connection.close()
            raise
    raise NetError("fetch_failed", f"cannot connect to {url.host}: {problem}")


def _connect(address: str, port: int, deadline: Deadline) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        _finish_connect(connection, (address, port), deadline)
    except BaseException:
        connection.close()
        raise
    return connection


def _finish_connect(connection: socket.socket, where: tuple[str, int], deadline: Deadline) -> None:
    code = connection.connect_ex(where)
    poll = select.poll()
    poll.register(connection, select.POLLOUT)
    while code in (errno.EINPROGRESS, errno.EALREADY, errno.EWOULDBLOCK):
        if poll.poll(deadline.slice_s() * 1000):
            code = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code not in (0, errno.EISCONN):
        raise OSError(code, os.strerror(code))


def _wrap(connection: socket.socket, url: Url, deadline: Deadline) -> ssl.SSLSocket:
    """TLS with the system's authorities (`SSL_CERT_FILE` is honoured by OpenSSL itself)."""
    context = ssl.create_default_context()
    try:
        secure = context.wrap_socket(connection, server_hostname=url.host, do_handshake_on_connect=False)
        while True:
            secure.settimeout(deadline.slice_s())
            try:
                secure.do_handshake()
                return secure
            except TimeoutError:
                continue
    except (ssl.SSLError, ssl.CertificateError) as error:
        raise NetError(
            "fetch_tls", f"{url.host} did not prove who it is: {error.reason or 'certificate'}"
        ) from error
    except OSError as error:
        raise NetError("fetch_failed", f"{url.host}: {error.strerror or 'the connection broke'}") from error


class Stream(io.RawIOBase):
    """One connection whose every read and write obeys the deadline. What http.client calls a socket."""

    def __init__(self, connection: socket.socket, deadline: Deadline, peer: str) -> None:
        self._connection = connection
        self._deadline = deadline
        self.peer = peer

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while True:
            self._connection.settimeout(self._deadline.slice_s())
            try:
                return self._connection.recv_into(buffer)
            except TimeoutError:
                continue

    def send_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self._connection.settimeout(self._deadline.slice_s())
            with contextlib.suppress(TimeoutError):
                view = view[self._connection.send(view) :]

    def makefile(self, mode: str = "rb") -> io.BufferedReader:
        """http.client's way of reading; the stream stays ours to close."""
        return io.BufferedReader(self)

    def close(self) -> None:
        super().close()
        self._connection.close()
