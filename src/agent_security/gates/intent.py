"""What of a command line acts, as against what it merely says (D6).

A sensitive word asks a question only where it is a command that would run, a path, a host or a
URL. What an option, a pattern, a here-document or a message says is recorded. Deleting within
the workspace is an ordinary change (D3): the policy judges what is deleted, not the spelling.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent_security.shell import Command, parse_line

__all__ = ["acting_words"]

_PATTERN_FIRST = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "gawk", "jq", "tr"})
"""Commands whose first operand is a pattern or a program, not a file."""

_ONLY_NAMES = frozenset({"echo", "printf", "test", "[", "[[", "ls", "stat", "basename", "dirname"})
"""Commands that open none of the files they name."""

_TEXT_OPTIONS = frozenset(
    {"-m", "-F", "-e", "-name", "-iname", "-path", "-ipath", "-regex", "--message", "--grep", "--regexp"}
    | {"-k", "-t", "--title", "--body", "--author", "--include", "--exclude", "--exclude-dir", "-g", "--glob"}
)
"""Options whose value is text."""


def acting_words(text: str) -> str:
    """The names of a line's commands, and the words that stand for files and addresses."""
    line = parse_line(text)
    if line.problem or line.opaque:
        return text
    return " ".join(word for command in line.commands for word in _words(command))


def _words(command: Command) -> Iterator[str]:
    yield command.name or command.text
    yield from (redirect.target.text for redirect in command.redirects if "<<" not in redirect.op)
    if command.name in _ONLY_NAMES:
        return
    pattern_due = command.name in _PATTERN_FIRST
    before = ""
    for word in (word.text for word in command.argv[1:]):
        if before in _TEXT_OPTIONS:
            pattern_due = False
        elif word.startswith("-"):
            yield word.partition("=")[2]
        elif pattern_due:
            pattern_due = False
        elif "/" in word or "." in word or "@" in word:
            yield word
        before = word
