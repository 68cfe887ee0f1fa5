"""Parse a command line: every command that would run, found by a real bash grammar (§2.3, D1).

"Cannot parse" is a value (`Line.problem`), never an error. The parts: `shell_grammar` asks shfmt,
`shell_walk` follows the tree, `shell_expand` makes words, `shell_run` unwraps commands by the tables
of `shell_wrapper_rows`, `shell_option_rows` and `shell_opaque`.
"""

from __future__ import annotations

from functools import lru_cache

from agent_security.shell.opaque import interpreter
from agent_security.shell.run import MAX_DEPTH, Runner
from agent_security.shell.words import (
    HOME,
    ROOT,
    SOME,
    UNKNOWN,
    Command,
    Line,
    Redirect,
    Word,
    base_name,
)

__all__ = [
    "HOME",
    "MAX_DEPTH",
    "ROOT",
    "SOME",
    "UNKNOWN",
    "Command",
    "Line",
    "Redirect",
    "Word",
    "base_name",
    "interpreter",
    "parse_line",
]


@lru_cache(maxsize=1024)
def parse_line(command: str, *, dialect: str = "bash") -> Line:
    """Every command that `command` would run. Never raises on bad input: `Line.problem` says why.

    `problem` reads `code: sentence` with the codes `hidden_text`, `unparsable` and `too_deep`; the
    commands found before the problem stand in the line all the same.
    """
    try:
        return Runner(dialect).line(command)
    except RecursionError:
        return Line(command, problem="too_deep: the line is nested too deeply to be followed")
