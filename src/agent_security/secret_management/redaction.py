"""Secrets become placeholders on their way to the model, the log and the terminal (§5).

`⟦secret:KIND:n⟧`: the same value always gets the same placeholder within a session. Text that
already holds something of that form gets a backslash into it, so nothing can pass for ours.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from agent_security.secret_management.patterns import SHORTEST
from agent_security.secret_management.runs import in_runs, is_token
from agent_security.secret_management.scan import SecretFinding, merge, scan_text
from agent_security.text.spellings import spellings

_LOOKALIKE = re.compile(r"⟦(\\*)(?=secret:)")
_ESCAPED = re.compile(r"⟦\\(\\*)(?=secret:)")
_PLACEHOLDER = re.compile(r"⟦\s{0,4}secret\s{0,4}:[^⟧\n]{0,80}", re.IGNORECASE)
_MOST = 10_000
"""Placeholders of one session; what comes after shares number 0."""
_SHORTEST = 8


class Redactor:
    """Replaces secrets of known shape and exact known values. Thread-safe; shows no value in its repr."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._needles: dict[str, str] = {}
        self._placeholders: dict[str, str] = {}
        self._by_value: dict[str, str] = {}
        for value in known:
            self.add(value)

    def add(self, value: str) -> None:
        """Redact this exact value from now on, in its usual encodings too; 8 characters or more."""
        if len(value) < _SHORTEST:
            return
        with self._lock:
            self._needles[value] = value
            for needle in spellings(value):
                self._needles.setdefault(needle, value)

    @property
    def placeholders(self) -> Mapping[str, str]:
        """Placeholder -> the text it stands for. For filling in at step 5; never shown or logged."""
        return MappingProxyType(self._placeholders)

    def redact(self, text: str, *, again: bool = False) -> str:
        """Text with every secret replaced and look-alike placeholders escaped.

        Give it whole texts, before anything is cut. `again=True` is for text that this redactor
        has been over (a model's own words for the log): placeholders are left as they are.
        """
        pieces: list[str] = []
        last = 0
        for finding in self._findings(text):
            pieces += (self._plain(text[last : finding.start], again), self._placeholder(finding, text))
            last = finding.end
        return "".join((*pieces, self._plain(text[last:], again)))

    def _findings(self, text: str) -> list[SecretFinding]:
        with self._lock:
            needles = list(self._needles)
        return merge([*(SecretFinding(*span) for span in _known(text, needles)), *scan_text(text)])

    def _plain(self, text: str, again: bool) -> str:
        return text if again or "⟦" not in text else _LOOKALIKE.sub(r"⟦\1\\", text)

    def _placeholder(self, finding: SecretFinding, text: str) -> str:
        value = text[finding.start : finding.end]
        with self._lock:
            same = self._needles.get(value, value)
            if same not in self._by_value and len(self._by_value) < _MOST:
                placeholder = f"⟦secret:{finding.rule}:{len(self._by_value) + 1}⟧"
                self._by_value[same] = placeholder
                self._placeholders[placeholder] = same
            return self._by_value.get(same, f"⟦secret:{finding.rule}:0⟧")

    def __repr__(self) -> str:
        return f"Redactor(known={len(self._needles)}, placeholders={len(self._placeholders)})"


def _known(text: str, needles: list[str]) -> Iterator[tuple[str, int, int]]:
    """Where exact values stand. Most spellings can only stand in a run of token characters."""
    tokens = [needle for needle in needles if len(needle) >= SHORTEST and is_token(needle)]
    others = set(needles).difference(tokens)
    yield from in_runs(text, SHORTEST, lambda long_runs: _places(long_runs, tokens))
    yield from _places(text, others)


def _places(text: str, needles: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    for needle in needles:
        at = text.find(needle)
        while at >= 0:
            yield "known", at, at + len(needle)
            at = text.find(needle, at + len(needle))


def contains_placeholder(text: str) -> bool:
    """Whether a text holds a placeholder, or what a model makes of one. Such text must reach no file:
    it would destroy the secret that stands there. An escaped look-alike (`⟦\\secret:`) is none."""
    return _PLACEHOLDER.search(text) is not None


def unescape_placeholders(text: str) -> str:
    """Undo the escaping of look-alikes: text that a file held before `redact`."""
    return _ESCAPED.sub(r"⟦\1", text)
