"""Long runs of the characters that tokens and encodings are made of.

Most text is not made of them: looking at the runs alone is what makes a scan fast.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

_LIMIT = 16_000
"""Characters of one piece of a longer run; a multiple of 4, so that base64 stays aligned."""

Spans = Iterable[tuple[str, int, int]]


def _mask(chars: str) -> bytes:
    return bytes(1 if chr(code) in chars else 0 for code in range(256))


_WORD = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
HEX = _mask("0123456789abcdefABCDEF")
BASE64 = _mask(_WORD + "+/_-")
TOKEN = _mask(_WORD + "_-.+/=~:%")


def runs(plain: bytes, mask: bytes, shortest: int, longest: int = _LIMIT) -> Iterator[tuple[int, int]]:
    """Runs of at least `shortest` characters of a set, those past `longest` in pieces."""
    marks = plain.translate(mask)
    start = marks.find(b"\1" * shortest)
    while start >= 0:
        end = marks.find(b"\0", start)
        end = min(len(marks) if end < 0 else end, start + longest)
        yield start, end
        start = marks.find(b"\1" * shortest, end)


def is_token(value: str) -> bool:
    """Whether a value is made of token characters alone, so that it can only stand within one run."""
    return all(TOKEN[code] for code in value.encode("ascii", "replace"))


def in_runs(text: str, shortest: int, scan: Callable[[str], Spans]) -> Iterator[tuple[str, int, int]]:
    """What `scan` finds in the long runs of a text, at its places in the text."""
    plain = text.encode("ascii", "replace")  # one byte a character, so places stay
    starts, offsets, pieces, size = [], [], [], 0
    for start, end in runs(plain, TOKEN, shortest, len(text)):
        starts.append(start)
        offsets.append(size)
        pieces.append(text[start:end])
        size += end - start + 1
    for rule, start, end in scan("\n".join(pieces)) if pieces else ():
        at = bisect_right(offsets, start) - 1
        yield rule, starts[at] + start - offsets[at], starts[at] + end - offsets[at]
