"""What a parsed command line is made of: words, redirections, commands, lines.

A word is known text with *marks* in it where text stands that only the run will tell. Marks are
Unicode noncharacters: no valid text holds them (the grammar refuses a line that does), so text
and mark can share one string, and cutting `--file=` off a word keeps the marks of the rest.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field

HOME = "\ufdd0"
"""The person's home directory: `~`, `$HOME`."""
ROOT = "\ufdd1"
"""The directory the line starts in: `$PWD`, `$(pwd)` before any `cd`."""
UNKNOWN = "\ufdd2"
"""Any text, possibly empty: an unset variable, a substitution's output."""
SOME = "\ufdd3"
"""Any text that is not empty: `${X:?}`, `$$`, a file that a glob or `find` names."""
STAR = "\ufdd4"
QUERY = "\ufdd5"
BRACKET = "\ufdd6"
PARENT = "\ufdd7"
"""The process id of the shell's parent."""
PIPE = "\ufdd8"
"""A process substitution's file; its number stands between two of these marks."""
SEARCH = "\ufddc"
"""The value that PATH had at the start."""
OPEN, COMMA, CLOSE = "\ufdd9", "\ufdda", "\ufddb"
"""Unquoted braces and commas; gone once braces are expanded."""

GLOBS = frozenset({STAR, QUERY, BRACKET})
RUN_TIME = frozenset({UNKNOWN, SOME, PARENT, PIPE, SEARCH})
NONCHARACTERS = frozenset(chr(code) for code in range(0xFDD0, 0xFDF0))

_SHOWN = {
    HOME: "~",
    ROOT: ".",
    UNKNOWN: "$?",
    SOME: "$?",
    STAR: "*",
    QUERY: "?",
    BRACKET: "[",
    PARENT: "$PPID",
    SEARCH: "$PATH",
    PIPE: "",
    OPEN: "{",
    COMMA: ",",
    CLOSE: "}",
}
_TO_TEXT = str.maketrans(_SHOWN)


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command after quotes are taken off. `value` may hold marks."""

    value: str

    @property
    def text(self) -> str:
        """For people and for patterns: marks as the shell writes them (`~`, `*`, `$?`)."""
        return self.value.translate(_TO_TEXT)

    @property
    def known(self) -> bool:
        """No mark at all: this very text reaches the program."""
        return not NONCHARACTERS & set(self.value)

    @property
    def settled(self) -> bool:
        """Nothing of it is known only at run time; globs, `~` and `.` may be in it."""
        return not RUN_TIME & set(self.value)

    @property
    def has_glob(self) -> bool:
        return bool(GLOBS & set(self.value))

    def starts(self, *prefixes: str) -> bool:
        return self.value.startswith(prefixes)

    def cut(self, length: int) -> Word:
        """The word without its first characters, as when `--file=` is taken off."""
        return Word(self.value[length:])


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirection. `target` is a path, a descriptor, or, for here-documents, the text itself."""

    op: str
    target: Word
    fd: str = ""

    @property
    def reads(self) -> bool:
        return self.op in ("<", "<>")

    @property
    def writes(self) -> bool:
        """Opens a file for writing; `2>&1` does not."""
        to_descriptor = self.op == ">&" and (
            self.target.value.rstrip("-").isdigit() or self.target.value == "-"
        )
        return self.op in (">", ">>", ">|", "<>", "&>", "&>>", ">&") and not to_descriptor

    @property
    def empties(self) -> bool:
        return self.writes and self.op in (">", ">|", "&>", ">&")


@dataclass(frozen=True, slots=True)
class Command:
    """One command that would run.

    `name` is the base name of the command word, "" where it is known only at run time. `where` says
    how it was reached: `direct`, `wrapper:env`, `substitution`, `code:sh -c`, `option:tar --to-command`;
    a compound command's own redirections stand as `:`, reached by `compound`.
    `cwd` is where it runs, relative to the start (`.`), absolute, from HOME, or None: not known.
    """

    argv: tuple[Word, ...]
    name: str
    redirects: tuple[Redirect, ...] = ()
    where: str = "direct"
    assignments: tuple[tuple[str, Word], ...] = ()
    cwd: str | None = "."
    feeds: str = ""
    """The name of the command that its output is piped into, or ""."""

    @property
    def args(self) -> tuple[Word, ...]:
        return self.argv[1:]

    @property
    def text(self) -> str:
        """The command as one line, for people and for patterns over commands."""
        return " ".join(word.text for word in self.argv)


@dataclass(frozen=True, slots=True)
class Line:
    """All that one command line would run. `problem` says why it could not be judged to its end."""

    text: str
    commands: tuple[Command, ...] = ()
    problem: str = ""
    opaque: tuple[str, ...] = ()
    notes: frozenset[str] = field(default_factory=frozenset)
    """What the shape of the line shows: `fork_bomb`, `endless_spawn`, `run_time_code`."""
    assignments: tuple[tuple[str, Word], ...] = ()
    """Every variable that the line sets, exported or not."""


def base_name(word: Word) -> str:
    """The name a command word runs by, "" where the run decides it."""
    if not word.settled or word.has_glob or not word.value:
        return ""
    return posixpath.basename(word.value.rstrip("/")) or word.value


def words(*texts: str) -> tuple[Word, ...]:
    return tuple(Word(text) for text in texts)
