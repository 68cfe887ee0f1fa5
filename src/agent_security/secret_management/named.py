"""`PASSWORD=…`, `"access_token": "…"`: a value behind a telling name (§5 redaction)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_security.secret_management.lookalikes import (
    is_digest,
    is_mixed_word,
    is_placeholder,
    is_random,
    is_reference,
    is_worded,
)

_KEYWORDS = (
    "passw", "passphrase", "secret", "token", "key", "credential", "pass", "pwd", "_pw", "psk", "auth",
    "signing",
)  # fmt: skip
_WHOLE_WORD = frozenset({"pass", "pwd", "psk", "key", "signing", "auth"})
"""Keywords that count only where a word of the name begins: `compass` and `monkey` hold none."""
_KEY_OF = ("_", "-", "api", "access", "private", "secret", "encryption", "master", "signing", "auth")
_SEPARATOR = re.compile(r"[\w.-]{0,24}?[\\\"']{0,4}\]?[ \t]{0,8}(?:=>|:=|=|:)(?![=:])[ \t]{0,8}")
_QUOTED = re.compile(r"(\\?[\"'`])([^\"'`\n\\]{4,600})(?:\\?[\"'`])")
_BARE = re.compile(r"[^\s\"'`,;&|<>(){}\[\]\\⟦⟧]{4,400}")
_BARE_REST = re.compile(r"[^\s\"'`,;&|<>(){}\[\]\\⟦⟧]*")
_WORD_BEFORE = re.compile(r"[\w.-]{0,40}$")
_PASSWORDS = re.compile(r"passw(?:or)?d|passphrase|pwd|_pw|_pass|psk", re.IGNORECASE)
_HARMLESS = re.compile(
    r"public|foreign|primary|author|tokeniz|max_?tokens|num_?tokens|_tokens|secretar|keyboard|token_?type|cache_?key|sort_?key"
    r"|_id$|key_?id$|_url$|_uri$|_path$|_file$|_dir$|_name$|_type$|token_?count|monkey|_?keys$|endpoint|_len(?:gth)?$|_field$|_?label$",
    re.IGNORECASE,
)
_MANIFEST = re.compile(r"^kind:\s{0,4}[\"']?Secret\b", re.MULTILINE)
_DATA_ROW = re.compile(
    r"^[ \t]{1,8}[\w.-]{1,80}:[ \t]{1,4}[\"']?([A-Za-z0-9+/]{8,4000}={0,2})[\"']?[ \t]*$", re.MULTILINE
)


def named_values(text: str) -> Iterator[tuple[str, int, int]]:
    """(rule, start, end) of values that a telling name says are secret and that look like it."""
    covered = 0
    for at, separator in sorted(_telling_names(text), key=lambda found: found[0]):
        if at < covered:
            continue
        name = _WORD_BEFORE.search(text, max(0, at - 40), at)
        label = (name[0] if name else "") + text[at : separator.end()].rstrip("=:> \t\"'\\]")
        span = _value_at(text, separator.end())
        if (
            span
            and not _HARMLESS.search(label)
            and _is_secret(label, text[span[0] : span[1]], quoted=span[2])
        ):
            covered = span[1] if span[2] else _rest(text, span[1])
            yield "named_secret", span[0], covered
    yield from _manifest_rows(text)


def _telling_names(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Where a keyword stands in a name, with the match of what lies between it and the value."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters grow in lower case, and places would shift
        lowered = "".join(char.lower() if char.isascii() else char for char in text)
    for keyword in _KEYWORDS:
        at = lowered.find(keyword)
        while at >= 0:
            end = at + len(keyword)
            if (keyword not in _WHOLE_WORD or _begins_word(lowered, at, keyword)) and (
                separator := _SEPARATOR.match(text, end)
            ):
                yield at, separator
            at = lowered.find(keyword, end)


def _begins_word(lowered: str, at: int, keyword: str) -> bool:
    if keyword == "key":
        return lowered[max(0, at - 10) : at].endswith(_KEY_OF)
    return not lowered[at - 1 : at].isalnum()


def _value_at(text: str, at: int) -> tuple[int, int, bool] | None:
    """Where the value begins and ends, and whether it is quoted."""
    if quoted := _QUOTED.match(text, at):
        return quoted.start(2), quoted.end(2), True
    if (bare := _BARE.match(text, at)) and text[bare.end() : bare.end() + 1] not in ("(", "[", "{"):
        return bare.start(), bare.end(), False
    return None


def _rest(text: str, at: int) -> int:
    """Where a bare value ends that is longer than what was judged of it."""
    rest = _BARE_REST.match(text, at)
    return rest.end() if rest else at


def _is_secret(label: str, value: str, *, quoted: bool) -> bool:
    if is_placeholder(value) or is_digest(value) or is_reference(value) or " " in value.strip():
        return False
    if _PASSWORDS.search(label) and is_mixed_word(value):
        return quoted or (is_random(value) and not is_worded(value))
    return len(value) >= 16 and is_random(value) and is_mixed_word(value) and not is_worded(value)


def _manifest_rows(text: str) -> Iterator[tuple[str, int, int]]:
    """Base64 rows of a Kubernetes Secret."""
    if "Secret" in text and _MANIFEST.search(text):
        yield from (("kubernetes_secret", row.start(1), row.end(1)) for row in _DATA_ROW.finditer(text))
