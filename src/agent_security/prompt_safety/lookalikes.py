"""Find and break whatever in a content could pass for a delimiter, a role marker or a tool call (§1.1).

A look-alike is broken by showing its first character as an escape (`<` becomes `\\u{3c}`), so
`restore` gives back the text. Names are matched on folded text: case, spacing, full-width and
confusable letters, entities and invisible characters in between make no difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from agent_security.text import Finding, Shown, for_terminal
from agent_security.text.fold import fold
from agent_security.text.hidden import escape, escape_at, hidden_positions, literal_positions

TAG_NAMES = ("user_input", "tool_result", "external_document")
_GAP = r"[\s\x00]{0,4}"
_LEET = {"o": "0", "l": "1i|", "i": "1l|", "e": "3", "s": "5$", "a": "4@", "t": "7"}


def _letter(letter: str) -> str:
    """One letter of a name: itself, its digit twin, or its character reference."""
    codes = {ord(letter), ord(letter.upper())}
    references = "|".join(f"&#0*{code};?|&#x0*{code:x};?" for code in sorted(codes))
    return f"(?:[{re.escape(letter + _LEET.get(letter, ''))}]|{references})"


def _name(name: str) -> str:
    first, second = (_GAP.join(_letter(letter) for letter in part) for part in name.split("_"))
    return rf"{first}(?:[\s\x00_.\-]|&#0*95;?|&#x0*5f;?|&lowbar;){{0,5}}{second}"


_OPENING = rf"(?:[\s\x00/\\!?]|&#0*47;?|&#x0*2f;?|&sol;){{0,12}}(?:[a-z][\w.\-]{{0,20}}:)?{_GAP}"
_NAMES = f"{_OPENING}(?:{'|'.join(_name(name) for name in TAG_NAMES)})"
_CALLS = (
    r"/?\s{0,4}(?:[a-z][\w.\-]{0,20}:)?(?:function_calls?|function_results?|tool_calls?|tool_use|tool_responses?"
    r"|tool_outputs?|tool_code|invoke(?=\s+name|\s*>)|function=\w|system[-_]reminder|system[-_]instructions?"
    r"|start_of_turn|end_of_turn)(?![\w.\-])"
)
_TOKENS = r"[\s\x00]{0,4}\|[\s\x00]{0,4}/?[a-z0-9_\-▁]{1,40}[\s\x00]{0,4}\|[\s\x00]{0,4}>"


@lru_cache(maxsize=1)
def _by_kind() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """(kind, what must stand in the text, pattern). Built when first needed: it takes 70 ms."""
    return (
        ("delimiter", "<", re.compile(f"<{_NAMES}", re.I)),
        ("delimiter", "&", re.compile(f"&(?:lt|#0*60|#x0*3c);?{_NAMES}", re.I)),
        ("delimiter", "\\", re.compile(rf"\\(?:u00|x)3c(?:\\u002f|{_GAP})?{_NAMES}", re.I)),
        ("delimiter", "%3", re.compile(rf"%3c(?:%2f)?{_NAMES}", re.I)),
        ("delimiter", "[", re.compile(rf"\[{_GAP}/{_NAMES}", re.I)),
        ("role_marker", "<", re.compile(f"<{_TOKENS}", re.I)),
        ("role_marker", "<", re.compile(r"<</?SYS>>")),
        ("role_marker", "[", re.compile(r"\[/?INST\]")),
        ("tool_call", "<", re.compile(f"<{_CALLS}", re.I)),
    )


_CLOSES = re.compile(r"/|\\|&#0*47|&#x0*2f|&sol|%2f", re.I)
_TURN = re.compile(r"\n[ \t\r]{0,16}\n[ \t]{0,16}(?:Human|Assistant)(:)")
_FORGED_END = re.compile(
    r"\n[-=#*]{2,8}[ \t]{0,8}END\b[^\n]{0,60}\n\s{0,8}(?i:system|user|assistant|human|developer)[ \t]{0,4}(:)"
)
_MESSAGE = re.compile(
    r"\n(\{)[ \t]{0,4}\"(?:role\"\s{0,4}:\s{0,4}\"(?:system|developer|user|assistant|tool)"
    r"|event\"\s{0,4}:\s{0,4}\"(?:permission_decision|approval|plan_approved|tool_result|user_message|config|session_\w+))\""
)


def lookalikes(text: str) -> list[Finding]:
    """What imitates a delimiter, a role marker or a tool call, in order of place.

    A tag that is only named (`<tool_result>` in prose, nothing closed) is neutralised too but is
    no finding: the sources and documents of programs like this one are full of them.
    """
    folded = fold(text)
    found = set(_imitations(folded))
    if not any(kind == "delimiter" and _CLOSES.search(folded[at:end]) for kind, at, end in found):
        found = {item for item in found if item[0] != "delimiter" or folded[item[2] : item[2] + 1] != ">"}
    ordered = sorted(found, key=lambda item: item[1:])
    return [
        Finding(kind, at, end, escape(text[at]) + for_terminal(text[at + 1 : end]))
        for kind, at, end in ordered
    ]


def _imitations(folded: str) -> Iterator[tuple[str, int, int]]:
    for kind, anchor, pattern in _by_kind():
        if anchor in folded:
            yield from ((kind, match.start(), match.end()) for match in pattern.finditer(folded))
    lines = "\n" + folded  # so that the first line begins like every other
    for anchor, pattern in ((":", _TURN), ("END", _FORGED_END), ("\n{", _MESSAGE)):
        if anchor in lines:
            yield from (("role_marker", m.start(1) - 1, m.end() - 1) for m in pattern.finditer(lines))


def neutralise(text: str) -> Shown:
    """Text that can be put between tags: nothing hidden, no look-alike. `restore` undoes it."""
    positions = {start for _, start, _ in _imitations(fold(text))}
    if not isinstance(text, Shown):
        positions.update(hidden_positions(text), literal_positions(text))
    return Shown(escape_at(text, positions))
