"""The usual encodings of a known value: what redaction looks for and what provenance keeps from leaving."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote


def spellings(value: str) -> Iterator[str]:
    """Base64 in its three alignments (what is sure of it), hex, percent-encoded, JSON-escaped, backwards."""
    raw = value.encode("utf-8", "surrogatepass")
    for shift in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield _sure(encode(b"\0" * shift + raw).decode(), shift, len(raw))
    yield raw.hex()
    yield raw.hex().upper()
    yield "".join(f"\\x{byte:02x}" for byte in raw)
    yield quote(value, safe="", errors="surrogatepass")
    yield base64.b32encode(raw).decode()[: len(raw) * 8 // 5]
    yield json.dumps(value)[1:-1]
    yield value[::-1]


def _sure(code: str, shift: int, length: int) -> str:
    """The characters of a base64 code that depend on the value alone, not on its neighbours."""
    first = (0, 2, 3)[shift]
    last = (shift + length) * 8 // 6
    return code[first:last]
