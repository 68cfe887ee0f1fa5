"""Which characters hide or control, where each is rightly used, and how it is shown.

A hidden character is shown as `\\u{hex}` (lower case, no leading zeros). Text that already holds
such an escape gets its backslash escaped, so that `restore` gives back every text exactly.
Rules for what stays: the Unicode emoji data (ZWJ, keycap and flag sequences), RFC 5892's joiner
rules, standardised and ideographic variation sequences.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_TAGS = "\U000e0000-\U000e0fff"
"""Tag characters, the 240 further variation selectors, and the unassigned rest of the block."""

HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f"  # C0 but tab, line feed, form feed and return; DEL; C1
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, marks, separators, bidi, invisible operators
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"  # lone surrogates and non-characters
    f"{_TAGS}]"
)

STRUCTURAL = frozenset("<\uff1c\ufe64\u2039\u2329\u3008\u27e8\u02c2\u1438\u276e\u00ab\u226a&%[{:|\\")
"""Visible characters that other modules may show as escapes to break a tag or a marker."""

_ESCAPE = re.compile(r"\\u\{(0|[1-9a-f][0-9a-f]{0,5})\}")
_C0_DELETE = bytes([*range(9), 11, *range(14, 32), 127])

_EMOJI = re.compile(
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_JOINING = re.compile(
    "[\u0600-\u060b\u0610-\u061a\u0620-\u06ff\u0700-\u07ff\u0840-\u086a\u08a0-\u08ff"  # Arabic to Mandaic
    "\u0900-\u0dff\u0e80-\u0eff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff"  # Indic, Lao, Myanmar, Khmer
    "\u1820-\u18aa\ufb50-\ufdcf\ufe70-\ufefc]"
)
_IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_VARYING = re.compile("[\u2200-\u22ff\u2a00-\u2aff\u3001\u3002\uff01-\uff1f\u1000-\u109f\ua840-\ua877]")
_FLAGS = tuple(
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in name) + "\U000e007f"
    for name in ("gbeng", "gbsct", "gbwls")
)


def hidden_positions(text: str) -> Iterator[int]:
    """Where a character hides or controls and is not part of a writing system's or emoji's own use."""
    if text.isascii() and len(text) == len(text.encode().translate(None, _C0_DELETE)):
        return
    for match in HIDDEN.finditer(text):
        if not _belongs(text, match.start()):
            yield match.start()


def _belongs(text: str, at: int) -> bool:
    """Whether the character at `at` is used as its script or the emoji standard uses it."""
    char, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if char in "\u200c\u200d":
        # a single joiner after a letter of a joining script; sloppy writers leave one at a word's end
        return bool(_JOINING.match(before) and not HIDDEN.match(after)) or _joins_emoji(text, at)
    if char == "\ufeff":
        return at == 0
    if "\U000e0020" <= char <= "\U000e007f":
        return _in_flag(text, at)
    return _selects_variant(char, before, after)


def _joins_emoji(text: str, at: int) -> bool:
    if text[at] != "\u200d":
        return False
    before = text[at - 2 : at - 1] if text[at - 1 : at] == "\ufe0f" else text[at - 1 : at]
    return bool(_EMOJI.match(before) and _EMOJI.match(text[at + 1 : at + 2]))


def _in_flag(text: str, at: int) -> bool:
    start = text.rfind("\U0001f3f4", max(0, at - 6), at)
    return start >= 0 and text.startswith(_FLAGS, start)


def _selects_variant(char: str, before: str, after: str) -> bool:
    """One selector after a character that has variants; a second one in a row is smuggling."""
    if char in "\ufe0e\ufe0f":
        keycap = before in tuple("0123456789#*") and after == "\u20e3"
        return keycap or bool(_EMOJI.match(before))
    if "\ufe00" <= char <= "\ufe02":
        return bool(_VARYING.match(before) or _IDEOGRAPH.match(before))
    if "\U000e0100" <= char <= "\U000e010f":
        return bool(_IDEOGRAPH.match(before))
    return "\u180b" <= char <= "\u180f" and "\u1820" <= before <= "\u18aa"


def literal_positions(text: str) -> Iterator[int]:
    """Where text already holds an escape that `restore` would take for one of ours."""
    if "\\u{" in text:
        yield from (m.start() for m in _ESCAPE.finditer(text) if _decodable(m[1]))


def _decodable(digits: str) -> bool:
    code = int(digits, 16)
    return code <= 0x10FFFF and (chr(code) in STRUCTURAL or HIDDEN.match(chr(code)) is not None)


def escape(char: str) -> str:
    """How one character is shown."""
    return f"\\u{{{ord(char):x}}}"


def escape_at(text: str, positions: Iterable[int]) -> str:
    """Text with the characters at `positions` (in any order, repeats allowed) shown as escapes."""
    pieces: list[str] = []
    last = 0
    for at in sorted(set(positions)):
        pieces += (text[last:at], escape(text[at]))
        last = at + 1
    return "".join((*pieces, text[last:])) if pieces else text


def restore(text: str) -> str:
    """The text before `for_model` or a wrapper neutralised it. The exact inverse of both."""
    if "\\u{" not in text:
        return str(text)
    return _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if _decodable(m[1]) else m[0], text)
