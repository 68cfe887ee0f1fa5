"""Addresses in text, and data that could ride in one."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from agent_security.net import host_of

URL = re.compile(r"\b[a-z][a-z0-9+.\-]{1,15}://[^\s\"'`<>\\^{}|]{1,4000}", re.IGNORECASE)
_SCP = re.compile(
    r"(?<![\w.@/:-])(?:[\w.\-]{1,64}@)?([\w\-]{1,63}(?:\.[\w\-]{1,63}){1,10}):(?!//)[\w./~-]", re.ASCII
)
_HOST = re.compile(
    r"(?<![\w.@/:-])(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,10}[a-z](?:[a-z0-9-]{0,61}[a-z0-9])(?![\w@-]|\.\w)",
    re.IGNORECASE,
)
_FILE_SUFFIXES = frozenset(
    {
        "bak", "bat", "bz2", "c", "cc", "cfg", "cjs", "conf", "cpp", "cs", "css", "csv", "diff", "exe",
        "gz", "h", "hpp", "html", "ini", "ipynb", "java", "jpg", "js", "json", "jsx", "kt", "lock",
        "log", "md", "mjs", "mk", "mp4", "orig", "patch", "php", "pl", "png", "py", "pyc", "pyi", "rb",
        "rs", "rst", "sh", "so", "sql", "svg", "swift", "tar", "toml", "ts", "tsx", "txt", "vue", "whl",
        "xml", "yaml", "yml", "zip", "zsh",
    }
)  # fmt: skip
"""`README.md` and `setup.py` are files, though md and py are top-level domains: naming the file must
not make a host of that name trusted."""
_TRAILING = ".,;:!?)]}*_"

LONG_QUERY = 128
"""Characters of a whole query above which it is judged."""
LONG_PART = 96
"""Characters of one path segment or value above which it is judged."""
ENCODED_PART = 24
"""Characters from which a part that looks encoded is judged."""


def urls_in(text: str) -> Iterator[str]:
    """The URLs of a text, without the punctuation that ends a sentence."""
    for match in URL.finditer(text):
        yield match[0].rstrip(_TRAILING)


def hosts_in(text: str) -> Iterator[str]:
    """Host names of a text in lower case: of URLs, of scp-like remotes, and written bare."""
    yield from filter(None, (host_of(url) for url in urls_in(text)))
    for match in (*_SCP.finditer(text), *_HOST.finditer(text)):
        host = match[match.lastindex or 0].lower()
        if host.rpartition(".")[2] not in _FILE_SUFFIXES:
            yield host


class DataInUrl(NamedTuple):
    """A part of an address that could carry data out."""

    part: str
    """All of it: what is trusted is the whole part, not how it begins."""
    why: str


def data_in_url(url: str) -> Iterator[DataInUrl]:
    """Path, query and fragment parts that are long, or look encoded; labels of the host too."""
    try:
        parts = urlsplit(url)
    except ValueError:
        yield DataInUrl(url[:80], "an address that cannot be read")
        return
    if len(parts.query) > LONG_QUERY:
        yield DataInUrl(parts.query, f"a query of {len(parts.query)} characters")
    for piece in _pieces(parts.path, parts.query, parts.fragment):
        if len(piece) > LONG_PART:
            yield DataInUrl(piece, f"a part of {len(piece)} characters")
        elif looks_encoded(piece):
            yield DataInUrl(piece, "a part that looks encoded")
    labels = (parts.hostname or "").split(".")
    yield from (
        DataInUrl(label, "a host label that looks encoded") for label in labels if looks_encoded(label)
    )
    if parts.username or parts.password:
        yield DataInUrl("user name", "a user name or password in the address")


def _pieces(path: str, query: str, fragment: str) -> Iterator[str]:
    for piece in re.split(r"[/;&=?#,:]", f"{path}&{query}&{fragment}"):
        yield unquote(piece)


def looks_encoded(part: str) -> bool:
    """Whether a part reads like encoded bytes rather than words: hex, base64, base32 or a mix."""
    if len(part) < ENCODED_PART:
        return False
    longest = max((len(word) for word in re.split(r"[-_. +%~!@()']", part)), default=0)
    if longest < ENCODED_PART:
        return _mixed(part) and longest >= ENCODED_PART // 3 and _entropy(part) > 4.3
    return _mixed(part) or re.fullmatch(r"[0-9A-Fa-f]+", part) is not None or _entropy(part) > 3.9


def _mixed(part: str) -> bool:
    """Digits among letters, or cases mixed as no word does."""
    digits = sum(char.isdigit() for char in part)
    changes = len(re.findall(r"[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]", part))
    return (digits >= 3 and changes >= 3) or changes >= 6


def _entropy(part: str) -> float:
    counts = Counter(part).values()
    return -sum(count / len(part) * math.log2(count / len(part)) for count in counts)
