"""A grant for a script of the workspace holds for its content (CONTRACTS §6)."""

from __future__ import annotations

import contextlib
import hashlib
import os

from agent_security.descriptors import open_root, read_regular
from agent_security.paths import Scope, lies_within
from agent_security.shell import Command, Line

__all__ = ["scripts_digest"]

_SCRIPT_BYTES = 1 << 20
_INTERPRETERS = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "python", "python3", "node", "deno", "bun", "ruby", "perl", "php"}
    | {"source", ".", "tsx", "ts-node", "Rscript", "lua"}
)
_SYSTEM_FOLDERS = ("/usr/", "/bin/", "/sbin/", "/opt/")


def scripts_digest(line: Line, scope: Scope) -> str:
    """SHA-256 over the workspace scripts a line names to run, in order; "" where it names none.

    A script that cannot be read is part of the digest as unreadable, so its grant ends when it can.
    """
    paths = [path for command in line.commands if (path := _script_of(command))]
    if not paths:
        return ""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path}\0".encode("utf-8", "surrogateescape") + _content(path, scope) + b"\0")
    return digest.hexdigest()


def _script_of(command: Command) -> str:
    words = [word.text for word in command.argv]
    if not words:
        return ""
    if "/" in words[0] and not words[0].startswith(_SYSTEM_FOLDERS):
        return os.path.join(command.cwd or ".", words[0])
    if command.name in _INTERPRETERS:
        operand = next((word for word in words[1:] if not word.startswith("-")), "")
        code = any(word in ("-c", "-m", "-e", "--eval", "-p") for word in words[1:])
        return os.path.join(command.cwd or ".", operand) if operand and not code else ""
    return ""


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
