"""Values that must not leave: what was redacted is private, in every usual spelling."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote

from agent_security.text.spellings import spellings

_LIMIT = 2_000
"""Values remembered."""
_SHORTEST = 8
_WINDOW = 12
"""A run of this many characters of a private value is the value, cut."""


class PrivateValues:
    """An index of private values: whole, in the usual encodings, and cut into windows."""

    __slots__ = ("_count", "_needles", "_windows")

    def __init__(self) -> None:
        self._count = 0
        self._needles: dict[str, None] = {}
        self._windows: set[int] = set()

    def __len__(self) -> int:
        return self._count

    def add(self, values: Iterable[str]) -> None:
        """Remember values of at least 8 characters; past 2,000 of them no more is learned."""
        for value in values:
            if len(value) < _SHORTEST or value in self._needles or self._count >= _LIMIT:
                continue
            self._count += 1
            self._needles[value] = None
            for needle in spellings(value):
                self._needles[needle] = None
            self._windows.update(hash(window) for window in _cut(value))

    def stands_in(self, text: str) -> bool:
        """Whether a private value, a spelling of one, or a run of one stands in `text`."""
        if not self._count:
            return False
        decoded = (text, unquote(text), re.sub(r"[\s\-_.,/+]", "", text))
        if any(needle in form for form in decoded for needle in self._needles):
            return True
        return any(hash(window) in self._windows for form in decoded for window in _cut(form))


def _cut(text: str) -> Iterable[str]:
    return (text[at : at + _WINDOW] for at in range(len(text) - _WINDOW + 1))
