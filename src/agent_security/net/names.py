"""Host names: one ASCII spelling for each, the names that are somebody's inside, and look-alikes (D10)."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["ascii_host", "look_alike", "name_problem"]

METADATA_HOSTS = frozenset(
    {
        "metadata.google.internal",
        "metadata.goog",
        "metadata.azure.com",
        "metadata.azure.internal",
        "metadata.tencentyun.com",
        "metadata.packet.net",
        "metadata.platformequinix.com",
        "metadata.oraclecloud.com",
        "api.metadata.cloud.ibm.com",
        "instance-data.ec2.internal",
    }
)
"""Names under which clouds serve credentials; single-label ones fall under another rule."""

INTERNAL_SUFFIXES: dict[str, str] = {
    "localhost": "loopback",
    "localdomain": "loopback",
    "internal": "a name of a private network",
    "intranet": "a name of a private network",
    "private": "a name of a private network",
    "corp": "a name of a private network",
    "home": "a name of a home network",
    "lan": "a name of a home network",
    "local": "a name of a home network (mDNS)",
    "home.arpa": "a name of a home network",
    "in-addr.arpa": "no host",
    "ip6.arpa": "no host",
    "svc": "a name of a Kubernetes cluster",
    "cluster.local": "a name of a Kubernetes cluster",
    "test": "reserved for tests",
    "invalid": "reserved, and resolves nowhere",
    "onion": "a Tor service",
    "alt": "outside the DNS",
}
"""Suffix → what lies below it. One row a suffix; RFC 6761, RFC 6762, RFC 8375 and common practice."""

WILDCARD_DNS = frozenset(
    {
        "nip.io",
        "sslip.io",
        "xip.io",
        "traefik.me",
        "backname.io",
        "1u.ms",
        "rbndr.us",
        "localtest.me",
        "lvh.me",
        "vcap.me",
        "lacolhost.com",
        "localh.st",
    }
)
"""Public domains that answer with loopback, or with whatever address the name spells."""

_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?")
_EAST_ASIAN = frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC"})
_LATIN_LIKE = frozenset("асԁеһіјӏорԛѕԝхуъьҽпгѵѡοαινκρτυχ")
"""Cyrillic and Greek letters that are read as Latin ones."""


def ascii_host(host: str) -> str:
    """One spelling: lower case, punycode, no last dot. Raises ValueError for names that mean two things.

    Labels are encoded as IDNA 2008 does, without its mappings: a name that compatibility mapping
    would change (full-width letters, look-alike dots) is refused instead.
    """
    if not host:
        raise ValueError("the host is empty")
    if host.isascii():
        name = host.lower()
    else:
        name = ".".join(_encoded(label) for label in unicodedata.normalize("NFC", host).split("."))
    name = name.removesuffix(".")
    if len(name) > 253 or any(len(label) > 63 for label in name.split(".")):
        raise ValueError("the host is too long")
    if not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise ValueError("the host holds characters that no host name has")
    return name


def _encoded(label: str) -> str:
    label = unicodedata.normalize("NFC", label.lower())
    if unicodedata.normalize("NFKC", label) != label or not all(_host_letter(c) for c in label):
        raise ValueError("the host holds look-alike or invisible characters")
    return label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii')}"


def _host_letter(c: str) -> bool:
    return (
        c in "-_"
        or (c.isascii() and c.isalnum())
        or (unicodedata.category(c)[0] in "LMN" and c not in _INVISIBLE)
    )


def name_problem(host: str) -> str:
    """Why a name (ASCII, lower case) is somebody's inside; "" where it may be public. Resolves nothing."""
    if host in METADATA_HOSTS:
        return "a cloud's metadata service"
    if "." not in host:
        return INTERNAL_SUFFIXES.get(
            host, "a single label, which a search domain may turn into an inside host"
        )
    parts = host.split(".")
    suffixes = [".".join(parts[i:]) for i in range(len(parts))]
    if WILDCARD_DNS.intersection(suffixes):
        return "a name that answers with loopback or with the address it spells"
    return next((INTERNAL_SUFFIXES[suffix] for suffix in suffixes if suffix in INTERNAL_SUFFIXES), "")


def look_alike(host: str) -> str:
    """Why a punycode name is not what it seems to say; "" where it is plain."""
    labels = host.split(".")
    foreign_top = labels[-1].startswith("xn--")
    problems = (_label_problem(label, foreign_top) for label in labels if label.startswith("xn--"))
    return next(filter(None, problems), "")


def _label_problem(label: str, foreign_top: bool) -> str:
    """`foreign_top`: under a top level of its own alphabet a name is not taken for a Latin one."""
    try:
        text = label[4:].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError, OverflowError):
        return "is no valid punycode"
    try:
        if text.isascii() or _encoded(text) != label:
            return "is not the one spelling of its name"
    except (ValueError, UnicodeError):
        return "holds look-alike or invisible characters"
    scripts = {unicodedata.name(c, "?").split(" ")[0] for c in text if c.isalpha()}
    if len(scripts) > 1 and not scripts <= _EAST_ASIAN:
        return "mixes alphabets within one word"
    if (
        not foreign_top
        and scripts & {"CYRILLIC", "GREEK"}
        and all(c in _LATIN_LIKE or not c.isalpha() for c in text)
    ):
        return "is written in letters that look like Latin ones"
    return ""
