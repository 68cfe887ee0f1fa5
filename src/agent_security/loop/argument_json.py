"""The arguments of a tool call, from whatever a model sent to one JSON object with one reading (D17).

A repair happens only where a single reading is possible: a code fence around the object, a comma before
a closing bracket, a raw line break inside a string, an object encoded twice. Everything else, duplicate
keys first of all, is a problem that the model is told; nothing guessed is ever executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

MAX_ARGUMENTS_CHARS = 8 * 1024 * 1024
"""A megabyte of content may be eight of escapes; beyond that nobody reads it."""
_MAX_DEPTH = 32
_FENCE_HEADS = ("```", "```json")


class Arguments(NamedTuple):
    """`text` is one JSON object where `problem` is empty. `repairs` says what was put right."""

    text: str = "{}"
    problem: str = ""
    repairs: tuple[str, ...] = ()


class _NotOneReading(ValueError):
    """The text is no JSON object, or could be read as more than one."""


def read_arguments(raw: object, *, takes_none: bool) -> Arguments:
    """Arguments as the server sent them. `takes_none`: the tool has no arguments, so nothing means `{}`."""
    if takes_none and (raw is None or (isinstance(raw, str) and raw.strip() in ("", "null"))):
        return Arguments("{}")
    if isinstance(raw, Mapping):
        return _from_object(raw)
    if not isinstance(raw, str):
        return Arguments(problem=f"the arguments are {_kind(raw)}, not a JSON object")
    if len(raw) > MAX_ARGUMENTS_CHARS:
        return Arguments(problem=f"the arguments are longer than {MAX_ARGUMENTS_CHARS} characters")
    try:
        value, repairs = _read(raw)
        _check(value)
    except (ValueError, RecursionError) as error:
        return Arguments(problem=f"the arguments are not one valid JSON object: {_why(error)}")
    return Arguments(json.dumps(value, ensure_ascii=False) if repairs else raw, repairs=repairs)


def _from_object(raw: Mapping[Any, Any]) -> Arguments:
    """Servers in Ollama's style send the object itself: nothing to repair."""
    try:
        _check(dict(raw))
        text = json.dumps(raw, ensure_ascii=False, allow_nan=False)
        if _load(text) != dict(raw):
            raise _NotOneReading("its keys or values are no JSON")
    except (TypeError, ValueError, RecursionError) as error:
        return Arguments(problem=f"the arguments are not one valid JSON object: {_why(error)}")
    return Arguments(text)


def _read(raw: str) -> tuple[Any, tuple[str, ...]]:
    """The object and what had to be repaired. Raises ValueError where there is no single reading."""
    text = _unfenced(raw)
    repairs = [] if text is raw else ["code fence removed"]
    try:
        value = _load(text)
    except _NotOneReading:
        raise
    except ValueError:
        value = _load(_without_trailing_commas(_with_escaped_breaks(text)))
        repairs.append("line breaks escaped or a trailing comma removed")
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _load(value)
        repairs.append("decoded twice")
    return value, tuple(repairs)


def _unfenced(text: str) -> str:
    """The text inside a code fence that surrounds all of it, else the very same text."""
    head, _, rest = text.strip().partition("\n")
    return rest.removesuffix("```") if head.strip() in _FENCE_HEADS and rest.endswith("```") else text


def _load(text: str) -> Any:
    return json.loads(
        text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite, parse_int=_bounded
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A checker and a tool may each pick another of two equal keys; so there are none."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NotOneReading("a key occurs twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise _NotOneReading(f"{name} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _NotOneReading("a number is too large")
    return number


def _bounded(text: str) -> int:
    if len(text) > 100:
        raise _NotOneReading("a number is too long")
    return int(text)


def _check(value: Any) -> None:
    """Raises ValueError for what is no object, is nested too deeply, or cannot be written as UTF-8."""
    if not isinstance(value, dict):
        raise _NotOneReading(f"it is {_kind(value)}")
    level: list[Any] = [value]
    for _ in range(_MAX_DEPTH):
        level = [item for node in level for item in _inside(node)]
        if not level:
            break
    else:
        raise _NotOneReading(f"it is nested deeper than {_MAX_DEPTH} levels")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _NotOneReading("it holds half a character (an unpaired surrogate)") from None


def _inside(node: Any) -> list[Any]:
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else []


_STRINGS = re.compile(r'"(?:[^"\\]|\\.|\\\Z)*+(?:"|\Z)', re.DOTALL)
"""A string, an unclosed last one too: so that every character is looked at once, whatever comes."""


def _with_escaped_breaks(text: str) -> str:
    """Raw line breaks and tabs inside strings, as models write them, in the form JSON asks for."""
    names = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return _STRINGS.sub(lambda found: re.sub(r"[\n\r\t]", lambda c: names[c[0]], found[0]), text)


def _without_trailing_commas(text: str) -> str:
    """Commas before a closing bracket, outside strings."""
    pattern = rf"({_STRINGS.pattern})|,(?=\s*[}}\]])"
    return re.sub(pattern, lambda found: found[1] or "", text, flags=re.DOTALL)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else "nothing known")


def _why(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos + 1}"
    return str(error)
