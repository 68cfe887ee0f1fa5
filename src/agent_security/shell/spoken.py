"""Programs that take commands on standard input, where the line itself shows what they are told."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agent_security.shell.getopt import names
from agent_security.shell.options import Hidden
from agent_security.shell.scripts import editor
from agent_security.shell.state import EMPTY, Flow
from agent_security.shell.words import UNKNOWN, Word

EDITORS = names("ed red ex vi vim nvim")
_SHELL_ESCAPES: tuple[tuple[frozenset[str], re.Pattern[str]], ...] = (
    (names("psql mysql mariadb"), re.compile(r"\s*(?:\\!|system\s)\s*(.*)|.*\\(?:o|g)\s*\|(.*)")),
    (
        names("sqlite3 duckdb"),
        re.compile(r"\s*\.(?:shell|system|!)\s+(.*)|\s*\.(?:output|once|import)\s+\"?\|(.*)"),
    ),
    (
        names("gdb lldb cgdb"),
        re.compile(r"\s*(?:!|shell\s|make\s|platform shell\s|python\s|pipe\s.*\|)\s*(.*)"),
    ),
    (names("ftp sftp dc bc gnuplot mutt mail mailx telnet"), re.compile(r"\s*~?!\s*(.*)|.*\bsystem\b(.*)")),
)
"""(programs, what in a line of their input goes to a shell)."""


def spoken(name: str, stdin: Flow) -> Iterable[Hidden]:
    """What the program's input makes it run, line by line."""
    if stdin is EMPTY or not stdin.text:
        return
    for line in stdin.text.splitlines():
        if name in EDITORS:
            yield from (Hidden("input", Word(code)) for code in editor(line).code)
        for programs, pattern in _SHELL_ESCAPES:
            if name in programs and (match := pattern.match(line)):
                yield Hidden("input", Word(next((group for group in match.groups() if group), UNKNOWN)))
