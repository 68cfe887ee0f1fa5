"""What a shell knows while a line runs: variables, directory, functions, and what flows in by a pipe.

A variable has *alternatives*: the values it may have at this point (a loop's words, both arms of an
`if`). Each value is a tuple of texts with marks; a plain variable has one, an array one an element.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import Any

from agent_security.shell.getopt import names
from agent_security.shell.words import HOME, PARENT, ROOT, RUN_TIME, SEARCH, SOME, UNKNOWN

Value = tuple[str, ...]
MAX_ALTERNATIVES = 64
MAX_VALUE = 16 * 1024

_FROM_THE_START: dict[str, Value] = {
    "HOME": (HOME,),
    "IFS": (" \t\n",),
    "PPID": (PARENT,),
    "PATH": (SEARCH,),
    "TMPDIR": ("/tmp",),
}
_NEVER_EMPTY = names("$ ! ? # - 0 UID EUID RANDOM SECONDS BASHPID USER LOGNAME SHELL HOSTNAME LINENO")


@dataclass(frozen=True, slots=True)
class Flow:
    """What a command prints or reads: its text where that is known, else where it comes from."""

    text: str | None = None
    origin: str = "computed"
    """`literal`, `file` (a file's content, unchanged) or `computed`."""


EMPTY = Flow("", "literal")


@dataclass(slots=True)
class State:
    """Copied for every subshell; joined again after the arms of a condition."""

    env: dict[str, list[Value]] = field(default_factory=dict)
    cwd: str | None = "."
    before: str | None = "."
    stack: list[str | None] = field(default_factory=list)
    functions: dict[str, list[Any]] = field(default_factory=dict)
    calling: tuple[str, ...] = ()

    def copy(self) -> State:
        functions = {name: list(bodies) for name, bodies in self.functions.items()}
        return State(dict(self.env), self.cwd, self.before, list(self.stack), functions, self.calling)

    def look(self, name: str) -> list[Value]:
        """The values a variable may have; [(UNKNOWN,)] where the environment decides."""
        if name == "PWD":
            return [(here(self.cwd),)]
        if name == "OLDPWD":
            return [(here(self.before),)]
        if name in self.env:
            return self.env[name]
        if name in _FROM_THE_START:
            return [_FROM_THE_START[name]]
        return [(SOME,)] if name in _NEVER_EMPTY else [(UNKNOWN,)]

    def is_set(self, name: str) -> bool:
        return name in self.env or name in _FROM_THE_START or name in ("PWD", "OLDPWD")

    def put(self, name: str, values: list[Value]) -> None:
        self.env[name] = bounded(values)

    def join(self, other: State) -> None:
        """Either this or `other` happened."""
        for name in {*self.env, *other.env}:
            self.env[name] = bounded([*self.look(name), *other.look(name)])
        for name, bodies in other.functions.items():
            mine = self.functions.setdefault(name, [])
            mine += [body for body in bodies if not any(body is own for own in mine)]
        if self.cwd != other.cwd:
            self.cwd = None

    def change_dir(self, target: str) -> None:
        """`target` with marks, as `cd` gets it."""
        self.before, self.cwd = self.cwd, moved(self.cwd, target)


def bounded(values: list[Value]) -> list[Value]:
    """At most MAX_ALTERNATIVES of at most MAX_VALUE characters; past that, one value that is not known."""
    distinct = list(
        dict.fromkeys(value if sum(map(len, value)) <= MAX_VALUE else (SOME,) for value in values)
    )
    if len(distinct) <= MAX_ALTERNATIVES:
        return distinct
    filled = all(value and all(value) and UNKNOWN not in "".join(value) for value in distinct)
    return [(SOME if filled else UNKNOWN,)]


def here(cwd: str | None) -> str:
    """A directory as the value of `$PWD`."""
    if cwd is None:
        return SOME
    if cwd.startswith(("/", HOME)):
        return cwd
    return ROOT if cwd == "." else f"{ROOT}/{cwd}"


def moved(cwd: str | None, target: str) -> str | None:
    """Where `cd target` leads: a path relative to the start, absolute, or from HOME; None: not known."""
    if RUN_TIME & set(target):
        return None
    if target.startswith(ROOT):
        target, cwd = target[1:].lstrip("/") or ".", "."
    if target.startswith("/"):
        return posixpath.normpath(target)
    if target.startswith(HOME):
        return posixpath.normpath(target)
    return None if cwd is None else posixpath.normpath(posixpath.join(cwd, target or "."))
