"""Follow a path as the kernel would, by directory descriptors, without opening what it names.

Every component is opened O_PATH|O_NOFOLLOW, which reads nothing and cannot hang on a FIFO; links
are read and followed here, so that a loop, a magic link of /proc or a `..` after something that
is not there becomes an answer and never a guess.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_security.changeset import Node
from agent_security.ports import FileFact

__all__ = ["DescriptorFacts", "lies_within"]

_PEEK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
MAX_LINKS = 40
MAX_DEPTH = 512
MAX_PATH_BYTES = 4095
MAX_NAME_BYTES = 255
_KERNEL_TREES = ("/proc", "/dev", "/sys")
"""What stands there depends on who looks; no path of a person's project leads through them."""

_WHY = {
    errno.EACCES: "no permission to look",
    errno.ELOOP: "too many links",
    errno.ENAMETOOLONG: "too long",
}


def lies_within(path: str, root: str) -> bool:
    """Component-wise, of two paths whose links are followed: /srv/proj2 does not lie in /srv/proj."""
    root = root.rstrip("/")
    return path == root or path.startswith(f"{root}/") or root == ""


class _Problem(Exception):
    """Why a walk ends early; never leaves this module."""


@dataclass(slots=True)
class _Walk:
    """One walk: the folders behind us, still open, and the parts still to come, last first."""

    parts: list[str]
    closed: tuple[str, ...]
    names: list[str] = field(default_factory=list)
    fds: list[int] = field(default_factory=list)
    links: int = 0
    last: os.stat_result | None = None

    @property
    def real(self) -> str:
        return "/" + "/".join(self.names)

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)
        self.fds.clear()


class DescriptorFacts:
    """Answers the `Facts` port from the file system itself. Opens no content, follows links by hand.

    `roots`: the workspace first, then the added directories; a relative path starts at the first.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        if not roots:
            raise ValueError("facts need at least one root")
        self._start = roots[0]
        self.roots = tuple(os.path.realpath(root) for root in roots)
        self._closed = tuple(
            tree for tree in _KERNEL_TREES if not any(lies_within(root, tree) for root in self.roots)
        )

    def look(self, path: str) -> FileFact:
        """What `path` stands for. Never raises for what a path may hold; `problem` says why it cannot be."""
        full = path if path.startswith("/") else f"{self._start}/{path}"
        if problem := _unusable(full):
            return FileFact(path, full, inside=False, exists=False, problem=problem)
        walk = _Walk(_reversed_parts(full), self._closed)
        problem = ""
        try:
            _run(walk)
        except _Problem as stopped:
            problem = str(stopped)
        finally:
            walk.close()
        return self._fact(path, walk, problem)

    def _fact(self, path: str, walk: _Walk, problem: str) -> FileFact:
        real, found = walk.real, walk.last
        inside = not problem and any(lies_within(real, root) for root in self.roots)
        if found is None:
            return FileFact(path, real, inside, exists=False, problem=problem)
        mode = found.st_mode
        return FileFact(path, real, inside, True, _node(mode), found.st_size, stat.S_IMODE(mode), problem)


def _unusable(full: str) -> str:
    if "\0" in full:
        return "NUL"
    try:
        raw = os.fsencode(full)
    except UnicodeEncodeError:
        return "no file name"
    if len(raw) > MAX_PATH_BYTES or any(len(part) > MAX_NAME_BYTES for part in raw.split(b"/")):
        return "too long"
    return ""


def _reversed_parts(path: str) -> list[str]:
    """The parts to walk, last first. A last slash asks for a folder, which the part "." says."""
    parts = [part for part in path.split("/") if part]
    if path.endswith(("/", "/.")):
        parts.append(".")
    return parts[::-1]


def _run(walk: _Walk) -> None:
    walk.fds.append(os.open("/", _PEEK))
    walk.last = os.fstat(walk.fds[-1])
    while walk.parts:
        _step(walk, walk.parts.pop())
        if walk.last is None:
            _run_through_nothing(walk)


def _step(walk: _Walk, name: str) -> None:
    """Go into one part: down, up, or along a link."""
    if walk.last is not None and not stat.S_ISDIR(walk.last.st_mode):
        raise _Problem("a file is used as a folder")
    if name == ".":
        return
    if name == "..":
        _step_up(walk)
        return
    if len(walk.names) >= MAX_DEPTH:
        raise _Problem("too deep")
    try:
        fd = os.open(name, _PEEK, dir_fd=walk.fds[-1])
    except FileNotFoundError:
        walk.names.append(name)
        walk.last = None
        return
    except OSError as error:
        raise _Problem(_WHY.get(error.errno or 0, "cannot be looked at")) from error
    _enter(walk, name, fd)


def _step_up(walk: _Walk) -> None:
    if walk.names:
        walk.names.pop()
        os.close(walk.fds.pop())
    walk.last = os.fstat(walk.fds[-1])


def _enter(walk: _Walk, name: str, fd: int) -> None:
    found = os.fstat(fd)
    if not stat.S_ISLNK(found.st_mode):
        walk.names.append(name)
        walk.fds.append(fd)
        walk.last = found
        if any(lies_within(walk.real, tree) for tree in walk.closed):
            raise _Problem("leads through /proc, /dev or /sys")
        return
    target = os.readlink("", dir_fd=fd)
    os.close(fd)
    walk.links += 1
    if walk.links > MAX_LINKS:
        raise _Problem("too many links")
    if target.startswith("/"):
        _back_to_top(walk)
    walk.parts.extend(_reversed_parts(target))


def _back_to_top(walk: _Walk) -> None:
    walk.names.clear()
    for fd in walk.fds[1:]:
        os.close(fd)
    del walk.fds[1:]
    walk.last = os.fstat(walk.fds[0])


def _run_through_nothing(walk: _Walk) -> None:
    """Below what is not there only plain names can follow; they will be created, or not be found."""
    while walk.parts:
        name = walk.parts.pop()
        if name == "..":
            raise _Problem(".. after something that is not there")
        if name != ".":
            walk.names.append(name)


def _node(mode: int) -> Node:
    if stat.S_ISREG(mode):
        return Node.FILE
    return Node.DIRECTORY if stat.S_ISDIR(mode) else Node.OTHER
