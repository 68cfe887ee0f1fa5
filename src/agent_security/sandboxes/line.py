"""One bwrap line being put together, with the descriptors it hands over."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType

from agent_security.sandboxes.binary import Bwrap
from agent_security.sandboxes.identity import Identity
from agent_security.sandboxes.seccomp import filter_here


@dataclass
class Line:
    """Words for bwrap and open descriptors. Use as a context manager: it closes what it opened."""

    identity: Identity
    words: list[str] = field(default_factory=list)
    fds: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.add("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session")
        self.add("--cap-drop", "ALL", "--hostname", "sandbox")
        if self.identity.uid == 0:
            self.add("--uid", "1000", "--gid", "1000")

    def __enter__(self) -> Line:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for fd in self.fds:
            os.close(fd)
        self.fds.clear()

    def add(self, *words: str) -> None:
        """Append words. A NUL would end a word early: ValueError."""
        if any("\0" in word for word in words):
            raise ValueError("a NUL in a mount path")
        self.words += words

    def read_only(self, source: str, dest: str = "") -> None:
        self.add("--ro-bind", source, dest or source)

    def data(self, content: bytes) -> str:
        """A descriptor, as a word, from which bwrap reads `content` once."""
        fd = os.memfd_create("agent-security", os.MFD_CLOEXEC)
        self.fds.append(fd)
        with os.fdopen(os.dup(fd), "wb") as file:
            file.write(content)
        os.lseek(fd, 0, os.SEEK_SET)
        return str(fd)

    def argv(self, bwrap: Bwrap, command: list[str], status_fd: int) -> list[str]:
        """The whole command line. The words travel by descriptor, so that /proc shows none inside."""
        self.add(
            "--remount-ro", "/", "--json-status-fd", str(status_fd), "--seccomp", self.data(filter_here())
        )
        words = b"".join(os.fsencode(word) + b"\0" for word in self.words)
        return [bwrap.path, "--args", self.data(words), "--", *command]


def inside_env(own: Mapping[str, str], given: Mapping[str, str], path: str, home: str) -> dict[str, str]:
    """The whole environment of a sandbox, and of its launcher: `--clearenv` alone leaks the launcher's.

    The session token travels here and never in a command line (D14).
    """
    fixed = {
        "PATH": path,
        "HOME": home,
        "USER": "agent",
        "LOGNAME": "agent",
        "SHELL": "/bin/bash",
        "TMPDIR": "/tmp",
    }
    return {"LANG": "C.UTF-8", "TERM": "dumb"} | dict(own) | dict(given) | fixed
