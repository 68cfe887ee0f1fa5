"""The kinds of value a setting can have, each checked with a message of one line.

A kind takes what stands in TOML, in a variable or on the command line, and gives the typed
value, or raises ValueError with what is wrong, without the key's name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

Parse = Callable[[object], Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """How a value is read, and how the documents call it."""

    name: str
    parse: Parse
    repeatable: bool = False
    """A list: on the command line given several times or with commas, in a variable with commas."""
    ordered: bool = False
    """A limit: values compare, a smaller one is stricter, None is no limit at all."""
    paths: bool = False
    """A path or a list of them: made absolute where it is read."""


def _number(raw: object) -> float:
    if isinstance(raw, bool) or not isinstance(raw, (int, float, str)):
        raise ValueError(f"{raw!r} is not a number")
    try:
        value = float(raw.strip() if isinstance(raw, str) else raw)
    except (ValueError, OverflowError):
        raise ValueError(f"{raw!r} is not a number") from None
    if not math.isfinite(value):
        raise ValueError(f"{raw!r} is not a finite number")
    return value


def _in_range(value: float, low: float, high: float) -> None:
    if value < low:
        raise ValueError(f"{value:g} is less than {low:g}")
    if value > high:
        raise ValueError(f"{value:.12g} is more than {high:.12g}")


def whole(low: int, high: int) -> Kind:
    """A whole number from `low` to `high`."""

    def parse(raw: object) -> int:
        if isinstance(raw, str) and not re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", raw):
            raise ValueError(f"{raw!r} is not a whole number")
        value = _number(raw)
        if value != int(value) or isinstance(raw, float):
            raise ValueError(f"{raw!r} is not a whole number")
        _in_range(value, low, high)
        return int(value)

    return Kind("whole number", parse, ordered=True)


def amount(low: float, high: float) -> Kind:
    """A number from `low` to `high`."""

    def parse(raw: object) -> float:
        value = _number(raw)
        _in_range(value, low, high)
        return value

    return Kind("number", parse, ordered=True)


_UNITS_S = {"": 1, "s": 1, "m": 60, "h": 3600}


def seconds(low: float, high: float) -> Kind:
    """A time in seconds; `90s`, `10m` and `2h` are understood."""

    def parse(raw: object) -> float:
        if isinstance(raw, str):
            match = re.fullmatch(r"\s*(-?[0-9]+(?:\.[0-9]+)?)\s*([smh]?)\s*", raw)
            if not match:
                raise ValueError(f"{raw!r} is not a time: write seconds, 90s, 10m or 2h")
            raw = float(match[1]) * _UNITS_S[match[2]]
        value = _number(raw)
        _in_range(value, low, high)
        return value

    return Kind("seconds", parse, ordered=True)


def tokens(low: int, high: int) -> Kind:
    """A number of tokens, or "auto": the model's own window."""
    number = whole(low, high).parse

    def parse(raw: object) -> int | str:
        return "auto" if raw == "auto" else int(number(raw))

    return Kind('tokens or "auto"', parse, ordered=True)


def choice(*words: str) -> Kind:
    """One of a few words."""

    def parse(raw: object) -> str:
        if raw not in words:
            raise ValueError(f"{raw!r} is none of {', '.join(words)}")
        return str(raw)

    return Kind(" | ".join(words), parse)


def _flag(raw: object) -> bool:
    if isinstance(raw, bool):
        return raw
    word = str(raw).strip().lower() if isinstance(raw, str) else ""
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ValueError(f"{raw!r} is neither true nor false")


def _text(raw: object) -> str:
    if not isinstance(raw, str) or "\0" in raw or "\n" in raw:
        raise ValueError(f"{raw!r} is not one line of text")
    return raw.strip()


def _url(raw: object) -> str:
    text = _text(raw)
    if text and not re.fullmatch(r"https?://[^\s/@?#]+(/[^\s?#]*)?", text):
        raise ValueError("not an http or https address without user, query or fragment")
    return text


def _variable(raw: object) -> str:
    text = _text(raw)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        # what was given may be the key itself: do not repeat it
        raise ValueError("not the name of an environment variable (a key is never written here)")
    return text


FLAG = Kind("true or false", _flag)
TEXT = Kind("text", _text)
PATH = Kind("path", _text, paths=True)
URL = Kind("address", _url)
VARIABLE = Kind("variable name", _variable)


def several(item: Callable[[str], str], name: str, *, paths: bool = False) -> Kind:
    """A list of words, in the order first given, none twice."""

    def parse(raw: object) -> tuple[str, ...]:
        found = (item(word.strip()) for word in _words(raw) if word.strip())
        return tuple(dict.fromkeys(found))

    return Kind(name, parse, repeatable=True, paths=paths)


def _words(raw: object) -> Iterable[str]:
    if isinstance(raw, str):
        return raw.split(",")
    if not isinstance(raw, (list, tuple)) or not all(isinstance(word, str) for word in raw):
        raise ValueError(f"{raw!r} is not a list of texts")
    return [part for word in raw for part in word.split(",")]


def one_of(*words: str) -> Callable[[str], str]:
    return choice(*words).parse


def identifier(word: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", word):
        raise ValueError(f"{word!r} is not a name")
    return word


def binary(word: str) -> str:
    """A program by its base name: a path would not say which program runs."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*", word):
        raise ValueError(f"{word!r} is not a program's plain name")
    return word


PRESETS = ("@pypi", "@npm", "@crates", "@go", "@debian")
_LABEL = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"


def domain(word: str) -> str:
    """An exact name, `*.name`, or a preset; never a bare `*`, a top-level wildcard or an address."""
    name = word.lower().rstrip(".")
    if name.startswith("@"):
        return one_of(*PRESETS)(name)
    if re.fullmatch(rf"\*\.{_LABEL}", name):
        raise ValueError(f"{word!r} would open a whole top-level domain")
    if not re.fullmatch(rf"(\*\.)?({_LABEL}\.)+{_LABEL}", name) or re.fullmatch(r"[0-9.]+", name):
        raise ValueError(f"{word!r} is no domain: write a name, *.name or one of {', '.join(PRESETS)}")
    return name


def plain(word: str) -> str:
    return _text(word)


def rank(limit: object) -> float:
    """How loose a limit is: None and "auto" bound nothing, so they are the loosest."""
    return float(limit) if isinstance(limit, (int, float)) else math.inf
