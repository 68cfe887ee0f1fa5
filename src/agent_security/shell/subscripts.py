"""Texts that bash evaluates a second time: a subscript in them runs the substitutions it holds.

`test -v 'a[$(id)]'`, `unset 'a[$(id)]'` and `x='a[$(id)]'; echo $((x))` all run `id`, though it stands
in single quotes. Whatever such a text would run is judged like any substitution.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from agent_security.shell.getopt import names
from agent_security.shell.words import Word

_SUBSCRIPT = re.compile(r"[A-Za-z_]\w*\[[^\]]*(?:\$\(|`)")
_TAKE_NAMES = names(
    "let read unset wait export declare typeset local readonly mapfile readarray getopts integer"
)
_ONLY_WITH = {"test": names("-v -R"), "[": names("-v -R"), "printf": names("-v")}


def evaluated_again(text: str) -> Word | None:
    """A line whose substitutions are those of the text's subscripts, or None where it has none."""
    return Word(f": <<subscript\n{text}\nsubscript\n") if _SUBSCRIPT.search(text) else None


def names_taken(name: str, args: tuple[Word, ...]) -> Iterator[str]:
    """The arguments of a builtin that it reads as the names of variables."""
    if name in _TAKE_NAMES or _ONLY_WITH.get(name, frozenset()) & {word.value for word in args}:
        yield from (word.value for word in args)


def literals(node: Any) -> Iterator[str]:
    """The texts that stand in a piece of the syntax tree as they are."""
    if isinstance(node, list):
        for item in node:
            yield from literals(item)
    elif isinstance(node, dict):
        if isinstance(node.get("Value"), str):
            yield node["Value"]
        for item in node.values():
            if isinstance(item, (dict, list)):
                yield from literals(item)
