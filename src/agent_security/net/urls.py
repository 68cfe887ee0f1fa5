"""What a URL names, judged by its letters alone (§2.3 layer 3, D10).

The parser is strict on purpose: whatever two readers could take for two hosts is refused, so
that what is judged is what is connected to.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv6Address

from agent_security.decision import Check
from agent_security.net.addresses import address_problem, is_numeric_host, strict_ipv4
from agent_security.net.names import ascii_host, look_alike, name_problem

__all__ = [
    "MAX_URL_CHARS",
    "Url",
    "UrlError",
    "confirm_url",
    "host_matches",
    "host_of",
    "judge_url_text",
    "split_url",
]

MAX_URL_CHARS = 4096
"""§3.3: the longest URL that `webfetch` takes."""

ORDINARY_PORTS = frozenset({80, 443, 8080, 8443})

_SCHEME = re.compile(r"(https?)://", re.IGNORECASE)
_OTHER_HOST = re.compile(
    r"^(?:[a-z][a-z0-9+.-]*://)?(?:[^@/?#\\\s]*@)?(\[[0-9a-f:.]+\]|[^:/?#\\\s\[\]]+)", re.IGNORECASE
)


class UrlError(ValueError):
    """Why a URL cannot be taken. `check` carries the code."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(f"{code}: {sentence}")
        self.check = Check(False, f"{code}: {sentence}")


@dataclass(frozen=True, slots=True)
class Url:
    """One judged-to-be-unambiguous URL. `host` is ASCII, lower case, without brackets or last dot."""

    scheme: str
    host: str
    port: int
    target: str
    """Path and query as they go on the wire, starting with "/"; the fragment stays at home."""
    shown_host: str
    is_address: bool

    @property
    def netloc(self) -> str:
        """As the Host header wants it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        ordinary = {"http": 80, "https": 443}[self.scheme]
        return host if self.port == ordinary else f"{host}:{self.port}"

    @property
    def text(self) -> str:
        return f"{self.scheme}://{self.netloc}{self.target}"


def split_url(url: str) -> Url:
    """Take a URL apart. Raises UrlError for all that is malformed or could be read in two ways."""
    _refuse_tricks(url)
    match = _SCHEME.match(url)
    if match is None:
        raise UrlError("url_scheme", "only http:// and https:// are fetched")
    scheme, rest = match[1].lower(), url[match.end() :]
    end = re.search(r"[/?#]", rest)
    authority = rest if end is None else rest[: end.start()]
    if "@" in authority:
        raise UrlError("url_userinfo", "a name or password before the host is refused")
    host_text, port = _split_authority(authority, {"http": 80, "https": 443}[scheme])
    host, is_address = _judge_host_text(host_text)
    return Url(scheme, host, port, _target(rest[len(authority) :]), host_text, is_address)


def _refuse_tricks(url: str) -> None:
    if not isinstance(url, str) or not url:
        raise UrlError("url_malformed", "the URL is empty")
    if len(url) > MAX_URL_CHARS:
        raise UrlError("url_malformed", f"the URL is longer than {MAX_URL_CHARS} characters")
    if any(c <= " " or c == "\x7f" or unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp", "Zs") for c in url):
        raise UrlError("url_malformed", "the URL holds blanks or control characters")
    if "\\" in url:
        raise UrlError("url_malformed", "the URL holds a backslash, which readers take for different things")


def _split_authority(authority: str, ordinary_port: int) -> tuple[str, int]:
    if authority.startswith("["):
        host, bracket, tail = authority.partition("]")
        host += bracket
    else:
        host, colon, port = authority.partition(":")
        tail = colon + port
    if tail and not (tail.startswith(":") and re.fullmatch(r"[0-9]{1,5}", tail[1:])):
        raise UrlError("url_malformed", "what follows the host is no port")
    port_number = int(tail[1:]) if tail else ordinary_port
    if not 0 < port_number < 65536:
        raise UrlError("url_malformed", "no such port")
    return host, port_number


def _judge_host_text(host: str) -> tuple[str, bool]:
    """The host as it will be connected to, and whether it is an address."""
    if host.startswith("["):
        try:
            return str(IPv6Address(host[1:-1])), True
        except ValueError as error:
            raise UrlError("url_malformed", "the bracketed host is no IPv6 address") from error
    try:
        name = ascii_host(host)
    except ValueError as error:
        raise UrlError("url_malformed", str(error)) from error
    if not is_numeric_host(name):
        return name, False
    if not strict_ipv4(name):
        raise UrlError(
            "url_numeric", "the host is a number in a spelling that readers take for different addresses"
        )
    return name, True


def _target(rest: str) -> str:
    """Path and query in ASCII; what is not ASCII goes percent-encoded."""
    path = rest.partition("#")[0]
    path = path if path.startswith("/") else f"/{path}"
    return "".join(c if c.isascii() else "".join(f"%{byte:02X}" for byte in c.encode()) for c in path)


def judge_url_text(url: str, open_hosts: Collection[str] = ()) -> Check:
    """Scheme, host and port by their letters; asks no resolver.

    `open_hosts` lifts nothing but the refusal of a look-alike name that the person opened by name.
    """
    try:
        parts = split_url(url)
    except UrlError as error:
        return error.check
    if parts.is_address:
        problem = address_problem(parts.host)
        return Check(False, f"private_address: {parts.host} is {problem}") if problem else Check(True)
    if problem := name_problem(parts.host):
        return Check(False, f"internal_host: {parts.host} is {problem}")
    if (problem := look_alike(parts.host)) and not host_matches(parts.host, open_hosts):
        return Check(False, f"url_look_alike: {parts.host} {problem}")
    return Check(True)


def confirm_url(url: str, *, open_hosts: Collection[str] = ()) -> Check:
    """ok=True: a person must say yes although the host is public: an unusual port.

    Port and host may be opened together, as "host:port" in `open_hosts`.
    """
    try:
        parts = split_url(url)
    except UrlError:
        return Check(False)
    if parts.port in ORDINARY_PORTS or f"{parts.host}:{parts.port}" in open_hosts:
        return Check(False)
    return Check(True, f"unusual_port: {parts.host} is asked for on port {parts.port}")


def host_of(url: str) -> str:
    """The host that a URL, scp-like address or bare name stands for, in ASCII; "" where there is none."""
    if not isinstance(url, str):
        return ""
    try:
        return split_url(url).host
    except UrlError:
        pass
    match = _OTHER_HOST.match(url.strip())
    if match is None:
        return ""
    try:
        return (
            ascii_host(match[1].strip("[]")) if not match[1].startswith("[") else match[1].strip("[]").lower()
        )
    except ValueError:
        return ""


def host_matches(host: str, patterns: Collection[str]) -> bool:
    """Whether a host is one of the exact names, or lies under a `*.x`, of `patterns` (CONTRACTS §2)."""
    host = host.lower().rstrip(".")
    for pattern in patterns:
        wanted = pattern.lower().rstrip(".")
        if wanted.startswith("*."):
            if host.endswith(wanted[1:]) and len(host) > len(wanted) - 1:
                return True
        elif host and host == wanted:
            return True
    return False
