"""A grant for a script of the workspace holds for its content (CONTRACTS §6)."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os

from agent_security.descriptors import open_root, read_regular
from agent_security.paths import Scope, lies_within
from agent_security.shell import Command, Line, interpreter

__all__ = ["scripts_digest"]

_SCRIPT_BYTES = 1 << 20
_CODE = frozenset({"-c", "-m", "-e", "--eval", "-p"})
"""Options behind which code stands on the line itself, or an installed module."""
_SYSTEM_FOLDERS = ("/usr/", "/bin/", "/sbin/", "/opt/")


def scripts_digest(line: Line, scope: Scope) -> str:
    """SHA-256 over the workspace scripts a line names to run, in order; "" where it names none.

    A script that cannot be read is part of the digest as unreadable, so its grant ends when it can.
    """
    paths = [path for command in line.commands for path in _scripts_of(command)]
    if not paths:
        return ""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path}\0".encode("utf-8", "surrogateescape") + _content(path, scope) + b"\0")
    return digest.hexdigest()


def _scripts_of(command: Command) -> list[str]:
    """The program itself where it is a path; of an interpreter's words, the files up to its script.

    Which of an interpreter's options take a value is not known here: a word behind an option may be
    the script, or a file that is loaded with it. Both are part of what was agreed to.
    """
    words = [word.text for word in command.argv]
    if not words:
        return []
    base = command.cwd or "."
    if "/" in words[0] and not words[0].startswith(_SYSTEM_FOLDERS):
        return [os.path.join(base, words[0])]
    if command.name not in ("source", ".") and not interpreter(command.name):
        return []
    found: list[str] = []
    for before, word in itertools.pairwise(words):
        if word.startswith(("-", "+")):
            if word in _CODE and not found:
                break
            continue
        found.append(os.path.join(base, word))
        if not before.startswith(("-", "+")):
            break
    return found


def _content(path: str, scope: Scope) -> bytes:
    real = scope.look(path).real
    root = scope.real_roots[0]
    if not lies_within(real, root) or real == root:
        return b"outside"
    with contextlib.suppress(OSError, ValueError):
        root_fd = open_root(root)
        try:
            return hashlib.sha256(read_regular(root_fd, os.path.relpath(real, root), _SCRIPT_BYTES)).digest()
        finally:
            os.close(root_fd)
    return b"unreadable"
