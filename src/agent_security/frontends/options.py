"""The session's options: one for each row of `settings.KEYS` that has a flag.

An option that was not given stays None, so that the settings of the files and the environment
count; its default is shown from the same table, and its value is judged by `load_settings` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from agent_security.settings import KEYS
from agent_security.settings.keys import Key

_NOT_BUILT = {"continue_newest", "resume", "artifacts"}


def session_parameters() -> list[click.Parameter]:
    """PROMPT, then every option of the table, in its order."""
    return [click.Argument(["prompt"], required=False), *(_option(key) for key in KEYS.values() if key.flag)]


def given_settings(given: Mapping[str, Any]) -> dict[str, object]:
    """What the command line really gave, by the names of `KEYS`."""
    fields = {key.field: key.name for key in KEYS.values() if key.flag}
    return {
        fields[name]: value for name, value in given.items() if name in fields and value not in (None, ())
    }


def refuse_not_built(given: Mapping[str, object]) -> None:
    """Raises NotBuiltError for a flag whose part is not built yet."""
    from agent_security.errors import NotBuiltError

    for name in sorted(_NOT_BUILT & given.keys()):
        raise NotBuiltError(f"{KEYS[name].option}: not built yet")


def _option(key: Key) -> click.Option:
    """One row as a click option."""
    more: dict[str, Any] = {"help": _help(key), "default": None}
    if _is_flag(key):
        more["is_flag"] = True
    else:
        more |= {"type": _type(key), "multiple": key.kind.repeatable, "metavar": _metavar(key)}
    return click.Option([*key.flag.split("/"), key.field], **more)


def _help(key: Key) -> str:
    text = key.help.rstrip(".")
    if key.name in _NOT_BUILT:
        return f"{text} (not built yet)."
    return f"{text}." if "(default" in text else f"{text}. [default: {shown_default(key.default)}]"


def shown_default(default: object) -> str:
    """A default as the help prints it."""
    if default is None or default == "" or default == ():
        return "none"
    if isinstance(default, bool):
        return "on" if default else "off"
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return f"{default:g}" if isinstance(default, float) else str(default)


def _is_flag(key: Key) -> bool:
    return isinstance(key.default, bool)


def _words(key: Key) -> list[str]:
    """The words of a choice; the table's kind is named by them."""
    return [word for word in key.kind.name.split(" | ") if word] if " | " in key.kind.name else []


def _type(key: Key) -> Any:
    return click.Choice(_words(key)) if _words(key) else str


_METAVARS = {
    "seconds": "SECONDS",
    "path": "PATH",
    "paths": "FILE",
    "folders": "DIR",
    "domains": "DOMAIN",
    "whole number": "N",
    "number": "USD",
    "address": "URL",
    "tool names": "NAMES",
    "guarantees": "NAMES",
}


def _metavar(key: Key) -> str | None:
    """A choice shows its words, anything else what it is."""
    return None if _words(key) else _METAVARS.get(key.kind.name, key.option.rsplit("-", 1)[-1].upper())
