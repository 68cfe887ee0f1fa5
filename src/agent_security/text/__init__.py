"""Foreign text made safe for the model, for a terminal, and for a question to a person (§1, §3.2).

Nothing here changes bytes on disk: it is about what is shown. What hides or controls is shown as
`\\u{hex}` and can be put back with `restore`; what a language or an emoji needs stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from agent_security.text.fold import confusables
from agent_security.text.hidden import (
    HIDDEN,
    escape,
    escape_at,
    hidden_positions,
    literal_positions,
    restore,
)

__all__ = [
    "Finding",
    "Shown",
    "break_ci_commands",
    "findings",
    "for_model",
    "for_question",
    "for_terminal",
    "restore",
]


class Shown(str):
    """Text in which everything hidden is shown already; `for_model` gives it back as it is."""

    __slots__ = ()


class Finding(NamedTuple):
    """Something hidden in a text. `start` and `end` count characters of that text."""

    kind: str
    """tag_characters, variation_selectors, zero_width, bidi_control, escape_sequence, control,
    surrogate, invisible; prompt_safety adds its own."""
    start: int
    end: int
    shown: str
    """What a person may be shown: the decoded message where there is one, else the escaped text."""


def for_model(text: str) -> str:
    """Text as the model may see it: what hides or controls shown, everything else untouched."""
    if isinstance(text, Shown):
        return text
    return Shown(escape_at(text, [*hidden_positions(text), *literal_positions(text)]))


def for_terminal(text: str) -> str:
    """Text that cannot drive a terminal. A return or form feed becomes a line break: one overwrites
    what stands there, the other may clear the screen."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
    return escape_at(plain, hidden_positions(plain))


# --- a question ---------------------------------------------------------------------------------

_UNSEEN = re.compile(r"[^\n -~]")
_TOKEN = re.compile(r"[^\s\"'`<>(){}\[\]|;&,=/:@]*[^\x00-\x7f][^\s\"'`<>(){}\[\]|;&,=/:@]*")
_ANY_ESCAPE = re.compile(r"\\(?=u\{[0-9A-Fa-f]+\})")


def for_question(text: str) -> str:
    """Text whose every character a person can see: two texts that differ look different.

    Shows joiners, selectors, tabs, returns and unusual spaces too, and letters of other scripts
    in a word or host that would pass for a plain one. Line breaks stay.
    """
    positions = [m.start() for m in _UNSEEN.finditer(text) if _unseen(m[0])]
    positions += [m.start() for m in _ANY_ESCAPE.finditer(text)]
    return escape_at(text, [*positions, *_disguised(text)])


def _unseen(char: str) -> bool:
    return not char.isprintable() or char.isspace() or HIDDEN.match(char) is not None or char == "\u2800"


def _disguised(text: str) -> Iterator[int]:
    """Letters that are not what they seem, in a token that also holds plain letters."""
    if text.isascii():
        return
    twins = confusables()
    for token in _TOKEN.finditer(text):
        for label in re.finditer(r"[^.\-_]+", token[0]):
            strange = [at for at, char in enumerate(label[0]) if not char.isascii()]
            if strange and all(ord(label[0][at]) in twins for at in strange) and _has_plain(token[0]):
                yield from (token.start() + label.start() + at for at in strange)


def _has_plain(token: str) -> bool:
    return any(char.isascii() and char.isalpha() for char in token)


# --- findings -----------------------------------------------------------------------------------

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ZERO_WIDTH = re.compile("[\u200b-\u200d\u2060\ufeff\u00ad\u034f]")


def findings(text: str) -> list[Finding]:
    """Everything hidden in a text, in order; neighbours of one kind are one finding."""
    found: list[Finding] = []
    covered = 0
    for at in hidden_positions(text):
        if at < covered:
            continue
        kind, covered = _kind_at(text, at)
        if found and found[-1].kind == kind and found[-1].end == at and kind != "escape_sequence":
            at = found.pop().start
        found.append(Finding(kind, at, covered, ""))
    return [
        finding._replace(shown=_decoded(finding.kind, text[finding.start : finding.end])) for finding in found
    ]


def _kind_at(text: str, at: int) -> tuple[str, int]:
    """The kind of what stands at `at`, and where it ends."""
    char = text[at]
    if sequence := _SEQUENCE.match(text, at):
        return "escape_sequence", sequence.end()
    if "\U000e0000" <= char <= "\U000e007f":
        return "tag_characters", at + 1
    if "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef":
        return "variation_selectors", at + 1
    if char <= "\x9f":
        return "control", at + 1
    if "\ud800" <= char <= "\udfff":
        return "surrogate", at + 1
    known = {"bidi_control": _BIDI, "zero_width": _ZERO_WIDTH}
    return next((name for name, chars in known.items() if chars.match(char)), "invisible"), at + 1


def _decoded(kind: str, piece: str) -> str:
    """What was smuggled, where it decodes to text; else the escaped characters."""
    if kind == "tag_characters":
        return for_terminal("".join(chr(ord(char) - 0xE0000) for char in piece))
    if kind == "variation_selectors" and len(piece) > 1:
        codes = bytes(ord(c) - 0xFE00 if c <= "\ufe0f" else ord(c) - 0xE0100 + 16 for c in piece)
        return for_terminal(codes.decode("utf-8", "replace"))
    return escape_at(piece, (at for at, char in enumerate(piece) if HIDDEN.match(char)))


# --- CI systems ---------------------------------------------------------------------------------

_WORKFLOW = re.compile(r"#(?=#(?:vso|teamcity)?\[)", re.IGNORECASE)
_LEADING = re.compile(r"(?:(?<=[\r\n])|\A)([^\S\r\n]*):(?=:)")


def break_ci_commands(text: str) -> str:
    """Text in which no CI system finds an order (CONTRACTS §2); runners look past leading blanks."""
    text = _WORKFLOW.sub(lambda m: escape("#"), text)
    return _LEADING.sub(lambda m: m[1] + escape(":"), text)
