"""Private keys in PEM and PuTTY form, cut ones included (§5 redaction)."""

from __future__ import annotations

import re
from collections.abc import Iterator

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BODY = re.compile(r"(?:[A-Za-z0-9+/=\s\\:,.\"'-]|\\[nr])*")
_MATERIAL = re.compile(r"[A-Za-z0-9+/]{24}")
"""A header alone, as code has it, is no key."""
_LONGEST = 100_000
_LINE = re.compile(r"[ \t>\"'+]{0,16}[0-9 \t:|]{0,12}[A-Za-z0-9+/]{16,}={0,2}[\"'\\nr, +]{0,8}")
_PUTTY = re.compile(r"Private-Lines: \d{1,4}\s{1,4}((?:[A-Za-z0-9+/=]{1,64}\s{1,4}){1,400})")


def private_keys(text: str) -> Iterator[tuple[str, int, int]]:
    """(rule, start, end) of each key: to its END line, else as far as it reads like a key."""
    if "PRIVATE KEY" in text:
        yield from _blocks(text)
    if "Private-Lines" in text:
        yield from (("putty_private_key", match.start(1), match.end(1)) for match in _PUTTY.finditer(text))


def _blocks(text: str) -> Iterator[tuple[str, int, int]]:
    covered, ends = 0, set()
    for begin in _BEGIN.finditer(text):
        if begin.start() < covered:
            continue
        covered = _end_of(text, begin.end())
        ends.add(covered)
        if _MATERIAL.search(text, begin.end(), covered):
            yield "private_key", begin.start(), covered
    before = 0
    for end in _END.finditer(text):
        if end.end() not in ends:
            yield from _headless(text, before, end)
        before = end.end()


def _end_of(text: str, at: int) -> int:
    """The end of a block that begins before `at`. A later BEGIN ends it too: it was cut."""
    limit = min(len(text), at + _LONGEST)
    following = _BEGIN.search(text, at, limit)
    end = _END.search(text, at, following.start() if following else limit)
    if end:
        return end.end()
    body = _BODY.match(text, at, following.start() if following else limit)
    return body.end() if body else at


def _headless(text: str, before: int, end: re.Match[str]) -> Iterator[tuple[str, int, int]]:
    """Lines of a key whose beginning was not read (a file read from an offset)."""
    start = end.start()
    for line in reversed(text[max(before, start - _LONGEST) : start].splitlines(keepends=True)):
        if not _LINE.fullmatch(line.rstrip()):
            break
        start -= len(line)
    if start < end.start():
        yield "private_key", start, end.end()
