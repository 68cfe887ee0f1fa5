"""The configuration a view shows, without credentials, and the way back into the real one (DESIGN §3.2).

`mask_config(real)` is what a command sees; `merge_config(real, shown, new)` carries over what
it changed, key by key, and keeps every credential and every byte it did not touch.
"""

from __future__ import annotations

import re

from agent_security.changes.git_config import ConfigProblem, Entry, Parsed

_USERINFO = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)([^/\s@\"']+)@")
_SECRET_NAME = re.compile(r"(?i)passw|pass$|token|secret|apikey|api-key|extraheader|authorization")
_HIDDEN = object()


def mask_config(real: bytes) -> bytes:
    """The text a view shows. A text that cannot be read shows as empty."""
    try:
        parsed = Parsed(real)
    except ConfigProblem:
        return b""
    edits: list[tuple[int, int, str]] = []
    hidden_sections = {
        header.section for header in parsed.headers if _strip(header.section) != header.section
    }
    for entry in parsed.entries:
        shown = _shown(entry)
        if shown is _HIDDEN:
            edits.append((entry.start, entry.end, ""))
        elif shown != entry.value:
            edits.append((entry.start, entry.end, _line(entry, str(shown), parsed.text)))
    edits += [(h.start, h.end, "") for h in parsed.headers if h.section in hidden_sections]
    return _without_stray(_edited(parsed.text, edits))


def _strip(text: str) -> str:
    """Addresses in a text without user and password; a bare user name of ssh stays."""

    def bare(match: re.Match[str]) -> str:
        keeps = "ssh" in match[1].lower() and ":" not in match[2]
        return match[0] if keeps else match[1]

    return _USERINFO.sub(bare, text)


def _shown(entry: Entry) -> object:
    """The value a view shows: the real one, one without user and password, or `_HIDDEN`."""
    helper = entry.section.partition(".")[0] == "credential" and "pass" in (entry.value or "").lower()
    if _is_hidden(entry.key) or helper:
        return _HIDDEN
    return None if entry.value is None else _strip(entry.value)


def _is_hidden(key: str) -> bool:
    section, _, name = key.rpartition(".")
    return bool(_SECRET_NAME.search(name)) or _strip(section) != section


def _without_stray(text: str) -> bytes:
    """Comments may hold an address with its password too."""
    lines = text.splitlines(keepends=True)
    clean = [line for line in lines if not (line.lstrip().startswith(("#", ";")) and _strip(line) != line)]
    return _strip("".join(clean)).encode("utf-8", "surrogateescape")


def merge_config(real: bytes, shown: bytes, new: bytes) -> bytes:
    """The real file with the changes that led from `shown` to `new`. Raises ConfigProblem."""
    if new == shown:
        return real
    if real == shown:
        Parsed(new)
        return new
    base, wanted = Parsed(shown).values(), Parsed(new).values()
    text = real
    gone = {key: base[key] for key in base if key not in wanted}
    for key in sorted({**base, **wanted}):
        if base.get(key) != wanted.get(key):
            text = _set(text, key, wanted.get(key, []), _carried(real, gone, key))
    merged = _without_empty_sections(Parsed(text), Parsed(new), Parsed(real))
    _prove(merged, wanted)
    return merged


def _carried(real: bytes, gone: dict[str, list[str | None]], key: str) -> dict[str, str]:
    """For a remote that was renamed: shown address -> real one, of the keys of that name that went."""
    kind, name = key.partition(".")[0], key.rpartition(".")[2]
    found: dict[str, str] = {}
    for entry in Parsed(real).entries:
        same_kind = entry.section.partition(".")[0] == kind == "remote" and entry.name == name
        if same_kind and entry.key in gone and entry.value is not None:
            found[str(_shown(entry))] = entry.value
    return found


def _set(real: bytes, key: str, values: list[str | None], carried: dict[str, str]) -> bytes:
    """Give one key these values, as shown; real values stand in for shown ones, hidden ones stay."""
    parsed = Parsed(real)
    entries = [entry for entry in parsed.entries if entry.key == key]
    pool = [entry for entry in entries if _shown(entry) is not _HIDDEN]
    result: list[str | None] = [entry.value for entry in entries if _shown(entry) is _HIDDEN]
    for value in values:
        match = next((entry for entry in pool if _shown(entry) == value), None)
        if match is not None:
            pool.remove(match)
            result.append(match.value)
        else:
            result.append(carried.get(value, value) if value is not None else None)
    if result == [entry.value for entry in entries]:
        return real
    return _replace(parsed, key, entries, result)


def _replace(parsed: Parsed, key: str, entries: list[Entry], values: list[str | None]) -> bytes:
    section, _, name = key.rpartition(".")
    lines = "".join(_setting(name, value) for value in values)
    edits = [(entry.start, entry.end, "") for entry in entries]
    at, lead = _place(parsed, section, entries)
    edits.append((at, at, lead + lines if lines else ""))
    return _edited(parsed.text, edits).encode("utf-8", "surrogateescape")


def _place(parsed: Parsed, section: str, entries: list[Entry]) -> tuple[int, str]:
    """Where new lines of a section go, and what has to stand before them."""
    if entries:
        at = entries[-1].end
    else:
        headers = [header for header in parsed.headers if header.section == section]
        if not headers:
            text = parsed.text
            return len(text), ("" if text.endswith("\n") or not text else "\n") + _header(section)
        inside = [e for e in parsed.entries if e.section == section and e.start > headers[-1].start]
        at = inside[-1].end if inside else _line_end(parsed.text, headers[-1].end)
    return at, "" if parsed.text[:at].endswith("\n") else "\n"


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _header(section: str) -> str:
    kind, dot, sub = section.partition(".")
    if not dot:
        return f"[{kind}]\n"
    escaped = sub.replace("\\", "\\\\").replace('"', '\\"')
    return f'[{kind} "{escaped}"]\n'


def _setting(name: str, value: str | None) -> str:
    return f"\t{name}\n" if value is None else f"\t{name} = {quote(value)}\n"


def _line(entry: Entry, value: str, text: str) -> str:
    ended = "\n" if text[entry.start : entry.end].endswith("\n") else ""
    return _setting(entry.name, value).rstrip("\n") + ended


def quote(value: str) -> str:
    """A value as git writes it: quoted where blanks or comment characters would be lost."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    escaped = escaped.replace("\n", "\\n").replace("\t", "\\t").replace("\b", "\\b")
    return f'"{escaped}"' if re.search(r"^\s|\s$|[#;]|\r", value) or not value else escaped


def _edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    for start, end, new in sorted(edits, key=lambda edit: (edit[0], edit[1]), reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _without_empty_sections(merged: Parsed, new: Parsed, real: Parsed) -> bytes:
    """Drop the headers of sections that lost all their keys and that the command dropped too."""
    kept = {header.section for header in new.headers}
    filled = {entry.section for entry in merged.entries}
    had = {entry.section for entry in real.entries}
    edits = []
    for header in merged.headers:
        if header.section in had and header.section not in filled and header.section not in kept:
            line = merged.text.rfind("\n", 0, header.start) + 1
            edits.append((line, _line_end(merged.text, header.end), ""))
    return _edited(merged.text, edits).encode("utf-8", "surrogateescape")


def _prove(merged: bytes, wanted: dict[str, list[str | None]]) -> None:
    """What a view would show of the result is what the command left. Raises ConfigProblem."""
    shown = Parsed(mask_config(merged)).values()
    if any(shown.get(key) != values for key, values in wanted.items() if not _is_hidden(key)):
        raise ConfigProblem("the changes cannot be carried over exactly")
    if any(key not in wanted for key in shown):
        raise ConfigProblem("the changes cannot be carried over exactly")
