"""Add a rule to a settings file's text, or take one out: comments and everything else stay.

The text is changed where one list stands, and believed only by what it then means: read as TOML,
the result must be the old settings with exactly that rule more or less.
"""

from __future__ import annotations

import copy
import json
import os
import re
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_security.errors import SettingsError

__all__ = ["with_rule", "without_rule", "write_settings"]

_TABLE = "permissions"
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'',
    re.S,
)
_BY_HAND = "this file writes its rules in a way that is only edited by hand"


def with_rule(text: str, action: str, rule: str) -> str:
    """The text with one more rule. Raises SettingsError where it stands there, or cannot be put in."""
    wanted = _tree(text)
    rules = _list_of(wanted, action)
    if rule in map(_text_of, rules):
        raise SettingsError(f"permissions.{action} holds {rule!r} already")
    rules.append(rule)
    return _believed(_added(text, action, json.dumps(rule, ensure_ascii=False)), wanted)


def without_rule(text: str, action: str, rule: str) -> str:
    """The text without a rule, examples and all. Raises SettingsError where it is not there."""
    wanted = _tree(text)
    rules = _list_of(wanted, action)
    at = next((number for number, item in enumerate(rules) if _text_of(item) == rule), -1)
    found = _find(text, action)
    if at < 0 or found is None:
        raise SettingsError(f"permissions.{action} holds no {rule!r}")
    del rules[at]
    return _believed(_removed(text, found.items[at], found), wanted)


def _text_of(item: object) -> object:
    return item.get("rule") if isinstance(item, dict) else item


def _tree(text: str) -> dict[str, Any]:
    try:
        return copy.deepcopy(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"cannot be read as TOML: {error}") from error


def _list_of(tree: dict[str, Any], action: str) -> list[Any]:
    table = tree.setdefault(_TABLE, {})
    rules = table.setdefault(action, []) if isinstance(table, dict) else None
    if not isinstance(rules, list):
        raise SettingsError(f"permissions.{action} is not a list of rules")
    return rules


def _believed(text: str, wanted: dict[str, Any]) -> str:
    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(_BY_HAND) from error
    if found != wanted:
        raise SettingsError(_BY_HAND)
    return text


# --- where the list stands -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Array:
    """Spans in the text: the brackets' inside, and each item with nothing around it."""

    start: int
    end: int
    items: tuple[tuple[int, int], ...]


def _find(text: str, action: str) -> _Array | None:
    """The list of one action, under `[permissions]` or as `permissions.ACTION` at the top."""
    table, at = "", 0
    while at < len(text):
        line = _line(text, at)
        if header := re.match(r"\s*\[+\s*([^\]\n]*?)\s*\]+", line):
            table = header[1].replace(" ", "").replace('"', "")
        elif key := re.match(r"\s*([\w.\"' -]+?)\s*=\s*", line):
            name = re.sub(r"[\s\"']", "", key[1])
            full = f"{table}.{name}" if table else name
            start = at + key.end()
            if full == f"{_TABLE}.{action}" and text[start : start + 1] == "[":
                return _array(text, start)
            at = _end_of_value(text, start)
            continue
        at += len(line)
    return None


def _line(text: str, at: int) -> str:
    end = text.find("\n", at)
    return text[at:] if end < 0 else text[at : end + 1]


def _array(text: str, start: int) -> _Array:
    """The items of the list that opens at `start`."""
    items: list[tuple[int, int]] = []
    at, first, last = start + 1, -1, -1
    while text[at] != "]":
        if text[at] == ",":
            items.append((first, last))
            first = -1
        if text[at] in ", \t\r\n":
            at += 1
        elif text[at] == "#":
            at += len(_line(text, at))
        else:
            first = at if first < 0 else first
            at = last = _end_of_piece(text, at)
    return _Array(start + 1, at, tuple([*items, (first, last)] if first >= 0 else items))


def _end_of_piece(text: str, at: int) -> int:
    """Past one string, one bracket with all it holds, or one character."""
    if string := _STRING.match(text, at):
        return string.end()
    if text[at] not in "[{":
        return at + 1
    depth = 0
    while True:
        if string := _STRING.match(text, at):
            at = string.end()
            continue
        if text[at] == "#":
            at += len(_line(text, at))
            continue
        depth += (text[at] in "[{") - (text[at] in "]}")
        at += 1
        if depth == 0:
            return at


def _end_of_value(text: str, at: int) -> int:
    """The start of the line after a value, however many lines it takes."""
    while at < len(text) and text[at] != "\n":
        at = at + len(_line(text, at)) - 1 if text[at] == "#" else _end_of_piece(text, at)
    return at + 1


# --- the change ------------------------------------------------------------------------------------


def _added(text: str, action: str, rule: str) -> str:
    found = _find(text, action)
    if found is not None:
        return _appended(text, rule, found)
    new = f"{action} = [{rule}]\n"
    header = re.search(rf"^[ \t]*\[\s*{_TABLE}\s*\][^\n]*(\n|$)", text, re.M)
    if header is not None:
        gap = "" if header[1] else "\n"
        return f"{text[: header.end()]}{gap}{new}{text[header.end() :]}"
    dotted = re.search(rf"^[ \t]*{_TABLE}\s*\.", text, re.M)
    if dotted is not None:
        return f"{text[: dotted.start()]}{_TABLE}.{new}{text[dotted.start() :]}"
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return f"{text}{gap}[{_TABLE}]\n{new}"


def _appended(text: str, rule: str, found: _Array) -> str:
    if not found.items:
        return f"{text[: found.start]}{rule}{text[found.start :]}"
    first, last = found.items[0][0], found.items[-1][1]
    if "\n" not in text[found.start : found.end]:
        return f"{text[:last]}, {rule}{text[last:]}"
    begin = text.rfind("\n", 0, first) + 1
    indent = text[begin:first] if not text[begin:first].strip() else "    "
    comma = re.match(r"[ \t]*,", text[last:])
    after = last + (comma.end() if comma else 0)
    rest = _line(text, after)
    if not rest.strip() or rest.lstrip().startswith("#"):
        after += len(rest.rstrip("\n"))
    head = text[:last] + ("" if comma else ",") + text[last:after]
    return f"{head}\n{indent}{rule},{text[after:]}"


def _removed(text: str, item: tuple[int, int], found: _Array) -> str:
    start, end = item
    comma = re.match(r"[ \t]*,[ \t]*", text[end:])
    end += comma.end() if comma else 0
    begin = text.rfind("\n", 0, start) + 1
    tail = _line(text, end)
    alone = not text[begin:start].strip() and (not tail.strip() or tail.lstrip().startswith("#"))
    if alone and "\n" in tail:
        return text[:begin] + text[end + len(tail) :]
    if not comma:  # the last of several on one line: the comma before it goes too
        start = len(text[:start].rstrip(" \t").removesuffix(","))
        start = max(start, found.start)
    return text[:start] + text[end:]


# --- the file --------------------------------------------------------------------------------------


def write_settings(path: Path, text: str) -> None:
    """Whole or not at all; a link to the file stays a link, an existing file keeps its mode."""
    real = Path(os.path.realpath(path))
    try:
        real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = real.stat().st_mode & 0o777 if real.exists() else 0o600
        fd, part = tempfile.mkstemp(dir=real.parent, prefix=".config-")
        try:
            with os.fdopen(fd, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(part, mode)
            os.replace(part, real)
        except BaseException:
            os.unlink(part)
            raise
    except OSError as error:
        raise SettingsError(f"{path}: not written: {error.strerror or error}") from error
