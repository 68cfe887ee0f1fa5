"""Look at a tree through directory descriptors that follow no link (DESIGN §3.3).

`Tree` keeps the descriptors of the folder it looked into last, so that a sorted list of paths
costs one open a folder and not one open a part.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from agent_security.changeset import Node
from agent_security.descriptors import parts_of

DIGEST_MAX_BYTES = 1 << 30
"""Files larger than this are told apart by size and times alone."""

_CHUNK_BYTES = 1 << 20
_KEPT_OPEN = 48
_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Blocked(Exception):
    """A part of the path is no folder: a link, a file, or something that cannot be entered."""


@dataclass(frozen=True, slots=True)
class State:
    """What stands at one path. `ident` is (device, inode, ctime_ns, mtime_ns), () where unknown."""

    node: Node
    mode: int = 0
    size: int = 0
    target: str | None = None
    digest: str | None = None
    ident: tuple[int, ...] = ()
    owner: tuple[int, int] = (-1, -1)

    @property
    def is_folder(self) -> bool:
        return self.node is Node.DIRECTORY

    def moved_to(self, other: State | None) -> bool:
        """Whether `other` is this very thing after a rename, which changes ctime and nothing else."""
        return (
            other is not None
            and self.ident[:2] + self.ident[3:] == other.ident[:2] + other.ident[3:]
            and (self.node, self.size) == (other.node, other.size)
        )


def node_of(mode: int) -> Node:
    """The kind of thing that an `st_mode` describes."""
    if stat.S_ISREG(mode):
        return Node.FILE
    if stat.S_ISDIR(mode):
        return Node.DIRECTORY
    return Node.LINK if stat.S_ISLNK(mode) else Node.OTHER


def digest_of(fd: int) -> str | None:
    """SHA-256 of an open file, by chunks; None past DIGEST_MAX_BYTES."""
    if os.fstat(fd).st_size > DIGEST_MAX_BYTES:
        return None
    sha = hashlib.sha256()
    while chunk := os.read(fd, _CHUNK_BYTES):
        sha.update(chunk)
    return sha.hexdigest()


class Tree:
    """One tree, looked at from its root descriptor, which stays the caller's."""

    def __init__(self, root_fd: int) -> None:
        self._root = root_fd
        self._names: list[str] = []
        self._fds: list[int] = []

    def forget(self) -> None:
        """Close what is kept open. Due whenever a folder was removed or replaced."""
        for fd in self._fds:
            os.close(fd)
        self._names, self._fds = [], []

    close = forget

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def folder(self, path: str) -> Iterator[int]:
        """A descriptor of the folder at `path` ("" is the root).

        Raises FileNotFoundError, Blocked, and ValueError for what is no plain relative path.
        """
        names = parts_of(path) if path else []
        shared = self._shared(names)
        for fd in self._fds[shared:]:
            os.close(fd)
        del self._names[shared:], self._fds[shared:]
        extra = -1
        try:
            for name in names[shared:]:
                below = _enter(name, extra if extra >= 0 else self._fds[-1] if self._fds else self._root)
                if len(self._fds) < _KEPT_OPEN:
                    self._names.append(name)
                    self._fds.append(below)
                    continue
                if extra >= 0:
                    os.close(extra)
                extra = below
            yield extra if extra >= 0 else self._fds[-1] if self._fds else self._root
        finally:
            if extra >= 0:
                os.close(extra)

    def _shared(self, names: list[str]) -> int:
        count = 0
        for kept, name in zip(self._names, names, strict=False):
            if kept != name:
                break
            count += 1
        return count

    @contextmanager
    def parent(self, path: str) -> Iterator[tuple[int, str]]:
        """The descriptor of `path`'s folder and its last part. Raises as `folder` does."""
        head, _, name = path.rpartition("/")
        parts_of(name)
        with self.folder(head) as fd:
            yield fd, name

    def state(self, path: str, *, digest: bool = False) -> State | None:
        """What stands at `path`; None where nothing does. Raises Blocked."""
        try:
            with self.parent(path) as (fd, name):
                seen = state_at(fd, name)
                return replace(seen, digest=self._digest(fd, name)) if seen and digest else seen
        except FileNotFoundError:
            return None

    def _digest(self, fd: int, name: str) -> str | None:
        try:
            file = os.open(name, _FILE, dir_fd=fd)
        except OSError:  # closed to us, or a link by now
            return None
        try:
            return digest_of(file) if stat.S_ISREG(os.fstat(file).st_mode) else None
        finally:
            os.close(file)

    def digest(self, path: str) -> str | None:
        """SHA-256 of the regular file at `path`; None where there is none that can be read."""
        try:
            with self.parent(path) as (fd, name):
                return self._digest(fd, name)
        except OSError:
            return None

    def names(self, path: str) -> list[str]:
        """The names in the folder at `path`, sorted."""
        with self.folder(path) as fd:
            return sorted(os.listdir(fd))


def _enter(name: str, fd: int) -> int:
    try:
        return os.open(name, _DIR, dir_fd=fd)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG):
            raise Blocked(f"{name} is no folder that can be entered") from error
        raise


def state_at(fd: int, name: str) -> State | None:
    """What stands at `name` in an open folder, links not followed, content not read."""
    try:
        seen = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Blocked(str(error)) from error
    node = node_of(seen.st_mode)
    return State(
        node,
        stat.S_IMODE(seen.st_mode) if node is not Node.LINK else 0,
        seen.st_size if node is not Node.DIRECTORY else 0,
        os.readlink(name, dir_fd=fd) if node is Node.LINK else None,
        None,
        (seen.st_dev, seen.st_ino, seen.st_ctime_ns, seen.st_mtime_ns),
        (seen.st_uid, seen.st_gid),
    )
