"""Read a call's arguments as one JSON object that every later reader reads alike (§3.1)."""

from __future__ import annotations

import json
from typing import Any, NoReturn

__all__ = ["MAX_ARGUMENT_CHARS", "read_arguments"]

MAX_ARGUMENT_CHARS = 16 * 1024 * 1024
"""Two texts of 1 MB, each character escaped as six; beyond that nothing valid is left."""


def read_arguments(text: str) -> tuple[dict[str, Any], str]:
    """(arguments, problem). A repeated key, NaN, an endless number or a bottomless nest is a problem.

    JSON's readers differ on these, so what was judged might not be what runs.
    """
    if len(text) > MAX_ARGUMENT_CHARS:
        return {}, "arguments: too large"
    try:
        value = json.loads(text, object_pairs_hook=_no_repeats, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        return {}, f"arguments: not JSON ({error.msg} at character {error.pos})"
    except RecursionError:
        return {}, "arguments: nested too deeply"
    except ValueError as error:
        return {}, f"arguments: {error}"
    return (value, "") if isinstance(value, dict) else ({}, "arguments: must be one JSON object")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return value
