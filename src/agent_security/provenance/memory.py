"""What was said and read, kept within bounds: the newest texts whole, the rest forgotten."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

PERSON_LIMIT = 2_000_000
UNTRUSTED_LIMIT = 2_000_000
"""Characters kept of each side."""
_ONE_TEXT = 1_000_000
_CHUNK = 100_000
_INSIDE = re.compile(r"[\w\-]")


@dataclass(frozen=True, slots=True)
class Noted:
    """One text. `folded` is case-folded, for search alone."""

    folded: str
    source: str
    first_line: int = 1


@dataclass(slots=True)
class Chunk:
    """Neighbouring texts, and all of them as one string: the quick look before the careful one."""

    texts: list[Noted] = field(default_factory=list)
    joined: str = ""


@dataclass(slots=True)
class Texts:
    """A store of texts; the oldest go when the bound is reached."""

    limit: int
    chunks: deque[Chunk] = field(default_factory=lambda: deque([Chunk()]))
    size: int = 0

    def add(self, text: str, source: str, first_line: int = 1) -> None:
        """Remember one text. `first_line` is the number its first line has in its source."""
        noted = Noted(text[:_ONE_TEXT].casefold(), source, first_line)
        if len(self.chunks[-1].joined) > _CHUNK:
            self.chunks.append(Chunk())
        self.chunks[-1].texts.append(noted)
        self.chunks[-1].joined += "\0" + noted.folded
        self.size += len(noted.folded) + 1
        while self.size > self.limit and len(self.chunks) > 1:
            self.size -= len(self.chunks.popleft().joined)

    def find(self, value: str, *, part: bool = False) -> tuple[Noted, int] | None:
        """The newest text that holds `value` as a whole token, and the line it stands in.

        `part` takes a place inside a longer token where there is no better one.
        """
        wanted = value.casefold()
        holding = [chunk for chunk in self.chunks if wanted in chunk.joined]
        texts = [noted for chunk in reversed(holding) for noted in reversed(chunk.texts)]
        for look in (find_token, str.find) if part else (find_token,):
            for noted in texts:
                if (at := look(noted.folded, wanted)) >= 0:
                    return noted, noted.first_line + noted.folded.count("\n", 0, at)
        return None


def find_token(text: str, wanted: str) -> int:
    """Where `wanted` stands in `text` with nothing of the same token around it; -1 where nowhere."""
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        if _starts(text, at) and _ends(text, at + len(wanted)):
            return at
        at = text.find(wanted, at + 1)
    return -1


def _starts(text: str, at: int) -> bool:
    before = text[at - 1 : at]
    if not before or _INSIDE.match(text[at]) is None:
        return True
    return not (_INSIDE.match(before) or before in "./@%+~=&?#$\\")


def _ends(text: str, end: int) -> bool:
    after, beyond = text[end : end + 1], text[end + 1 : end + 2]
    if not after or _INSIDE.match(text[end - 1]) is None:
        return True
    if after in ".:?&=+%/@~#":  # a full stop ends a sentence, not a name that goes on
        return bool(after in ".:?" and (not beyond or beyond.isspace() or beyond in "\"')]}"))
    return not _INSIDE.match(after)
