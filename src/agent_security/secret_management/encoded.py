"""Tokens in disguise: base64, hex escapes, and tokens with invisible characters in between."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator

from agent_security.secret_management.runs import BASE64, HEX, runs

_HEX_ESCAPES = re.compile(r"(?:\\x[0-9a-fA-F]{2}){12,4000}")
_ASCII_HEX = re.compile(r"(?:[2-7][0-9a-fA-F])+")
_STRIPPED = re.compile(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u00ad\u200b-\u200f\u2060-\u2064\ufeff\U000e0000-\U000e0fff]"
)
_CONTROLS = bytes([*range(9), 11, 12, *range(14, 32), 127])
_HINTS = re.compile(rb"[A-Za-z0-9]{2,10}[_-][A-Za-z0-9]|AKIA|ASIA|AIza|eyJ|PRIVATE KEY|://")

Scan = Callable[[str], Iterator[tuple[str, int, int]]]


def disguised(text: str, scan: Scan) -> Iterator[tuple[str, int, int]]:
    """(rule, start, end) of what `scan` finds once it is decoded; the whole disguise is the span."""
    for start, end, plain in _decodings(text):
        if found := next(scan(plain), None):
            yield f"encoded_{found[0]}", start, end
    yield from _unsplit(text, scan)


def _decodings(text: str) -> Iterator[tuple[int, int, str]]:
    plain = text.encode("ascii", "replace")  # one byte a character, so places stay
    for start, end in runs(plain, BASE64, 28):
        if (raw := _from_base64(text[start:end])) and _HINTS.search(raw):
            yield start, end, raw.decode("latin-1")
    for start, end in runs(plain, HEX, 40):
        if (code := _ASCII_HEX.fullmatch(text, start, end)) and not (end - start) % 2:
            yield start, end, bytes.fromhex(code[0]).decode("latin-1")
    for match in _HEX_ESCAPES.finditer(text) if "\\x" in text else ():
        yield match.start(), match.end(), bytes.fromhex(match[0].replace("\\x", "")).decode("latin-1")


def _from_base64(code: str) -> bytes | None:
    """The bytes, where they are plain text; None for anything else."""
    bare = code.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        head = base64.b64decode(bare[:24] + "=" * (-len(bare[:24]) % 4))
        if not all(9 <= byte < 127 for byte in head):
            return None
        return base64.b64decode(bare + "=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return None


def _unsplit(text: str, scan: Scan) -> Iterator[tuple[str, int, int]]:
    """What becomes a secret once colour codes and invisible characters are taken out."""
    if text.isascii() and len(text) == len(text.encode().translate(None, _CONTROLS)):
        return
    cuts = list(_STRIPPED.finditer(text))
    if not cuts:
        return
    pieces: list[str] = []
    places: list[int] = []
    last = 0
    for cut in cuts:
        pieces.append(text[last : cut.start()])
        places.extend(range(last, cut.start()))
        last = cut.end()
    places.extend(range(last, len(text)))
    for rule, start, end in scan("".join((*pieces, text[last:]))):
        yield rule, places[start], places[end - 1] + 1
