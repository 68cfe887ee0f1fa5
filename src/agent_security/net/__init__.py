"""Judge a URL, and fetch it from exactly the address that was judged (§2.3 layer 3, D10).

`judge_url` by letters needs no network and is what the gates call. `fetch` is step 5 of the
spine: resolve, judge every answer, connect to that answer, judge each redirect anew, within one
deadline and one size. No proxy variable, cookie, credential or `Refresh` header is obeyed.
"""

from __future__ import annotations

import http.client
import re
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from urllib.parse import urljoin

from agent_security.decision import Check
from agent_security.errors import NetError
from agent_security.net.addresses import address_problem, judge_addresses
from agent_security.net.sockets import Deadline, PinnedAddress, Stream, judge_answers, open_stream, resolve
from agent_security.net.urls import Url, confirm_url, host_matches, host_of, judge_url_text, split_url
from agent_security.ports import Resolver

__all__ = [
    "Fetched",
    "PinnedAddress",
    "address_problem",
    "confirm_url",
    "fetch",
    "host_matches",
    "host_of",
    "judge_addresses",
    "judge_url",
]

MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CHUNK_BYTES = 64 * 1024


def judge_url(url: str, *, open_hosts: Collection[str] = (), resolver: Resolver | None = None) -> Check:
    """Whether a URL may be fetched at all. Lexical without a resolver; with it every answer is judged.

    A name that does not resolve, or whose answer is not public, is refused. No mode and no rule
    lifts a refusal.
    """
    check = judge_url_text(url, open_hosts)
    if not check.ok or resolver is None:
        return check
    parts = split_url(url)
    if parts.is_address:
        return check
    try:
        answers = tuple(resolver(parts.host, parts.port))
    except OSError:
        return Check(False, f"unresolved: {parts.host} does not resolve")
    return judge_answers(answers)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A whole answer. `url` is the last of the redirects, `addresses` those connected to, in order."""

    url: str
    status: int
    content_type: str
    body: bytes
    addresses: tuple[str, ...]


def fetch(
    url: str,
    *,
    resolver: Resolver | None,
    deadline_s: float,
    max_bytes: int,
    open_hosts: Collection[str] = (),
    stop: Callable[[], bool] | None = None,
) -> Fetched:
    """GET one URL. Raises NetError: refused, unresolved, too slow, too large, broken.

    `resolver` None is the system's. Its answers are judged like any other, `PinnedAddress` objects
    made by code excepted. A redirect to a host that is neither the same, a neighbour under the same
    name, nor opened ends the fetch: the model may ask for that URL as a call of its own.
    """
    deadline = Deadline.after(deadline_s, stop)
    seen: list[str] = []
    for _ in range(MAX_REDIRECTS + 1):
        parts = _judged(url, open_hosts)
        addresses = resolve(parts, resolver, deadline)
        stream = open_stream(parts, addresses, deadline)
        try:
            seen.append(stream.peer)
            response = _request(parts, stream)
            onward = _redirect(parts, response, open_hosts)
            if onward is None:
                return _fetched(parts, response, max_bytes, tuple(seen))
            url = onward
        finally:
            stream.close()
    raise NetError("too_many_redirects", f"more than {MAX_REDIRECTS} redirects")


def _judged(url: str, open_hosts: Collection[str]) -> Url:
    check = judge_url_text(url, open_hosts)
    if not check.ok:
        raise NetError(check.code or "url_malformed", check.sentence)
    return split_url(url)


def _request(parts: Url, stream: Stream) -> http.client.HTTPResponse:
    """Send one GET and read the head of its answer."""
    head = (
        f"GET {parts.target} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        "User-Agent: agent-security\r\nAccept: text/html, text/*;q=0.9, */*;q=0.5\r\n"
        "Accept-Encoding: gzip\r\nConnection: close\r\n\r\n"
    )
    response = http.client.HTTPResponse(stream, method="GET")  # type: ignore[arg-type]
    try:
        stream.send_all(head.encode("ascii"))
        response.begin()
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NetError("fetch_failed", f"{parts.host} gave no answer that is HTTP") from error
    return response


def _redirect(parts: Url, response: http.client.HTTPResponse, open_hosts: Collection[str]) -> str | None:
    """Where the answer sends on to, judged; None where it does not."""
    _refuse_refresh(parts, response, open_hosts)
    location = response.headers.get("Location")
    if response.status not in _REDIRECTS or not location:
        return None
    target = _joined(parts, location)
    onward = _judged(target, open_hosts)
    if not _same_site(parts.host, onward.host) and not host_matches(onward.host, open_hosts):
        raise NetError(
            "redirect_elsewhere", f"{parts.host} redirects to {onward.host}; ask for {onward.text} itself"
        )
    return target


def _joined(parts: Url, location: str) -> str:
    try:
        return urljoin(parts.text, location)
    except ValueError as error:
        raise NetError("url_malformed", f"{parts.host} redirects to what is no URL") from error


def _same_site(host: str, other: str) -> bool:
    return host == other or other.endswith(f".{host}") or host == f"www.{other}"


def _refuse_refresh(parts: Url, response: http.client.HTTPResponse, open_hosts: Collection[str]) -> None:
    """`Refresh` is never followed; one that points inside is the mark of an attack, and refused."""
    match = re.search(r"url\s*=\s*['\"]?([^'\"\s]+)", response.headers.get("Refresh") or "", re.IGNORECASE)
    if match is not None:
        _judged(_joined(parts, match[1]), open_hosts)


def _fetched(
    parts: Url, response: http.client.HTTPResponse, max_bytes: int, seen: tuple[str, ...]
) -> Fetched:
    kind = response.headers.get("Content-Type") or ""
    encoding = (response.headers.get("Content-Encoding") or "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise NetError("fetch_failed", f"{parts.host} answers in an encoding that was not asked for")
    body = _body(parts, response, max_bytes, packed=encoding != "identity")
    return Fetched(parts.text, response.status, kind, body, seen)


def _body(parts: Url, response: http.client.HTTPResponse, max_bytes: int, *, packed: bool) -> bytes:
    """The body, unpacked; neither the packed nor the unpacked form may pass `max_bytes`."""
    unpack = zlib.decompressobj(31) if packed else None
    body, taken = bytearray(), 0
    try:
        while chunk := response.read(_CHUNK_BYTES):
            taken += len(chunk)
            body += unpack.decompress(chunk, max_bytes + 1 - len(body)) if unpack else chunk
            if max(taken, len(body)) > max_bytes:
                raise NetError("answer_too_large", f"the answer is larger than {max_bytes} bytes")
    except (OSError, http.client.HTTPException, zlib.error, ValueError) as error:
        raise NetError("fetch_failed", f"the answer of {parts.host} broke off") from error
    if unpack is not None and taken and not unpack.eof:
        raise NetError("fetch_failed", f"the answer of {parts.host} broke off")
    return bytes(body)
