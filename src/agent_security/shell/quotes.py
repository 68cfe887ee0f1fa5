"""Take quotes off: what bash makes of the literal parts of a word, and brace expansion."""

from __future__ import annotations

import re
from itertools import pairwise

from agent_security.shell.words import BRACKET, CLOSE, COMMA, HOME, OPEN, QUERY, STAR, UNKNOWN

MAX_BRACES = 64
_UNQUOTED = str.maketrans({"*": STAR, "?": QUERY, "[": BRACKET, "{": OPEN, ",": COMMA, "}": CLOSE})
_BACK_TO_BRACES = str.maketrans({OPEN: "{", COMMA: ",", CLOSE: "}"})
_ANSI = re.compile(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.))",
    re.DOTALL,
)
_ANSI_NAMES = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))
_RANGE = re.compile(r"(-?\d{1,6}|[A-Za-z])\.\.(-?\d{1,6}|[A-Za-z])(?:\.\.-?\d+)?")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def unquoted(text: str) -> str:
    """Outside quotes: a backslash takes the next character's meaning off; globs and braces become marks."""
    out, position = [], 0
    for escape in _ESCAPE.finditer(text):
        out.append(text[position : escape.start()].translate(_UNQUOTED))
        out.append("" if escape[1] == "\n" else escape[1])
        position = escape.end()
    out.append(text[position:].translate(_UNQUOTED))
    return "".join(out)


def as_globs(value: str) -> str:
    """A variable's value where it stands unquoted: its glob characters count, its braces do not."""
    return value.replace("*", STAR).replace("?", QUERY).replace("[", BRACKET)


def double_quoted(text: str, *, escapable: str = '$`"\\') -> str:
    """Inside double quotes, or a here-document, where a quote needs no backslash."""
    return _ESCAPE.sub(lambda m: "" if m[1] == "\n" else m[1] if m[1] in escapable else m[0], text)


def ansi_c(text: str) -> str:
    r"""Inside $'…'. A NUL ends the word, as in bash."""
    return _ANSI.sub(_ansi_char, text).split("\0", 1)[0]


def _ansi_char(match: re.Match[str]) -> str:
    name, octal, byte, short, long, control = match.groups()
    if name:
        return _ANSI_NAMES[name]
    if control:
        return chr(ord(control.upper()) & 0x1F)
    code = int(octal, 8) & 0xFF if octal else int(byte or short or long, 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else UNKNOWN


def settle_brackets(value: str) -> str:
    """`[` is a glob only where a `]` follows."""
    return value if BRACKET not in value or "]" in value.split(BRACKET, 1)[1] else value.replace(BRACKET, "[")


def tilde(value: str) -> str:
    """A leading `~` of an unquoted word. Another person's home is a path of its own."""
    if value == "~" or value.startswith("~/"):
        return HOME + value[1:]
    match = re.match(r"~([A-Za-z_][\w.-]*)(?=/|$)", value)
    return ("/" if match[1] == "root" else "/home/") + match[1] + value[match.end() :] if match else value


def expand_braces(value: str) -> list[str]:
    """`{a,b}` and `{1..3}`, nested too. More than MAX_BRACES words: one that is not known."""
    try:
        found = _braces(value, 0)
    except RecursionError:
        found = [UNKNOWN] * (MAX_BRACES + 1)
    return [UNKNOWN] if len(found) > MAX_BRACES else [word.translate(_BACK_TO_BRACES) for word in found]


def _braces(value: str, start: int) -> list[str]:
    opening = value.find(OPEN, start)
    if opening < 0:
        return [value]
    closing, commas = _group(value, opening)
    if closing < 0:
        return _braces(value, opening + 1)
    head, tail = value[:opening], value[closing + 1 :]
    choices = _choices(value, opening, closing, commas)
    if not choices:
        return _braces(value, opening + 1)
    out: list[str] = []
    for choice in choices:
        out += _braces(head + choice + tail, opening)
        if len(out) > MAX_BRACES:
            break
    return out


def _group(value: str, opening: int) -> tuple[int, list[int]]:
    """Where the group that opens here closes, and its own commas."""
    depth, commas = 0, []
    for position in range(opening, len(value)):
        char = value[position]
        depth += (char == OPEN) - (char == CLOSE)
        if char == COMMA and depth == 1:
            commas.append(position)
        if depth == 0:
            return position, commas
    return -1, []


def _choices(value: str, opening: int, closing: int, commas: list[int]) -> list[str]:
    if commas:
        edges = [opening, *commas, closing]
        return [value[a + 1 : b] for a, b in pairwise(edges)]
    match = _RANGE.fullmatch(value[opening + 1 : closing])
    if match is None:
        return []
    if match[1].lstrip("-").isdigit() != match[2].lstrip("-").isdigit():
        return []
    if match[1].lstrip("-").isdigit():
        return _between(int(match[1]), int(match[2]), str)
    return _between(ord(match[1]), ord(match[2]), chr)


def _between(first: int, last: int, show: type[str] | object) -> list[str]:
    step = 1 if last >= first else -1
    numbers = range(first, last + step, step)[: MAX_BRACES + 1]
    return [show(number) for number in numbers] if callable(show) else []
