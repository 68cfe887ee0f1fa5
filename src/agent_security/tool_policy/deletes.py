"""Deleting: ordinary in the workspace; refused for roots, homes, parents, what nobody can name (D3)."""

from __future__ import annotations

import posixpath
import re

from agent_security.decision import Check
from agent_security.paths import Scope
from agent_security.shell.getopt import names, read
from agent_security.shell.words import GLOBS, PIPE, STAR, UNKNOWN, Command, Word
from agent_security.tool_policy.places import OK, resolve, within

_RM = names("rm srm trash trash-put gio")


def is_recursive(command: Command) -> bool:
    got = read(command.args, frozenset(), flags=names("--recursive --force --dir"))
    return got.has("-r", "-R", "--recursive")


def check_delete(command: Command, scope: Scope) -> Check:
    """`rm -r` and `find -delete`. Paths outside are the path scope's; here it is about breadth."""
    if command.name in _RM and is_recursive(command):
        for word in read(command.args, frozenset()).operands:
            if not (check := check_target(word, command.cwd, scope)).ok:
                return check
    if command.name in ("find", "gfind") and any(word.value == "-delete" for word in command.args):
        return _find_delete(command, scope)
    return OK


def check_target(word: Word, cwd: str | None, scope: Scope) -> Check:
    """One target of a recursive delete."""
    if word.value[:1] in (UNKNOWN, PIPE) or (cwd is None and not word.starts("/")):
        return Check(False, f"broad_delete: what {word.text} stands for is known only at run time")
    path = resolve(_without_all(word), cwd, scope)
    if path is not None and is_broad(path, scope):
        return Check(False, f"broad_delete: {word.text} is {_what(path, scope)}")
    return OK


def _without_all(word: Word) -> Word:
    """`x/*` takes all of `x`; `*` and `./*` all of the directory it runs in."""
    stripped = re.sub(rf"(^|/)[.{STAR}{''.join(GLOBS)}]*[{''.join(GLOBS)}]+/*$", r"\1", word.value)
    return Word(stripped or ".") if stripped != word.value else word


def is_broad(path: str, scope: Scope) -> bool:
    """Root, a home, the workspace, or anything that holds one of these."""
    precious = (posixpath.normpath(scope.working_dir), posixpath.normpath(scope.home_dir), *scope.added_dirs)
    return path == "/" or any(within(place, path) for place in precious)


def _what(path: str, scope: Scope) -> str:
    if path == "/":
        return "the root of the file system"
    return (
        "the workspace itself"
        if path == posixpath.normpath(scope.working_dir)
        else "a directory that holds more than this work"
    )


_FILTERS = re.compile(
    r"-(i?name|i?path|i?wholename|i?regex|i?lname|type|mtime|mmin|ctime|size|newer.*|empty|user|group|perm|inum|links)$"
)


def _find_delete(command: Command, scope: Scope) -> Check:
    filtered = any(_FILTERS.match(word.value) for word in command.args)
    for word in command.args:
        if word.starts("-", "(", "!"):
            break
        path = resolve(word, command.cwd, scope)
        if path is not None and not filtered and is_broad(path, scope):
            return Check(False, f"broad_delete: find would delete everything below {word.text}")
    starts = bool(command.args) and not command.args[0].starts("-", "(", "!")
    if not starts and not filtered and command.cwd == ".":
        return Check(False, "broad_delete: find would delete everything in the workspace")
    return OK
