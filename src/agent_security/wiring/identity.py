"""Who commits: the person's name and address, as their own git configuration says them.

Without it every `git commit` behind the wall would fail. Two values are taken and nothing else: no
alias, helper or include of that file reaches the sandbox. Read, never run.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from agent_security.changes.git_config import ConfigProblem, Parsed

MOST_BYTES = 1024 * 1024
_FILES = (".config/git/config", ".gitconfig")
"""Below home, in git's order: a later file wins."""


def git_identity_of(home: Path) -> tuple[str, str]:
    """(name, email), each "" where the person's git configuration does not say it or cannot be read."""
    found: dict[str, str] = {}
    for name in _FILES:
        with suppress(OSError, ConfigProblem):
            for key, values in Parsed(_read(home / name)).values().items():
                found[key] = values[-1] or ""
    return _plain(found.get("user.name", "")), _plain(found.get("user.email", ""))


def _read(path: Path) -> bytes:
    """A regular file of sane size, else nothing; a FIFO in its place is never waited for."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        return file.read(MOST_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else b""


def _plain(value: str) -> str:
    """One line that is written back as a git value; bytes that are no text are replaced."""
    return " ".join(value.encode("utf-8", "surrogateescape").decode("utf-8", "replace").split())
