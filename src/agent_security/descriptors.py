"""Walk a tree by directory descriptors that follow no link and never leave their root.

The host opens nothing of a workspace by name (DESIGN §3.3): a name can be swapped for a link
between the look and the use, a descriptor cannot. Everything here takes a root descriptor and
a relative path, and refuses `..`, empty parts, NUL and links in any part but, where asked, the last.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def parts_of(path: str) -> list[str]:
    """The parts of a relative path. Raises ValueError for a path that could leave its root."""
    parts = path.split("/")
    if path.startswith("/") or "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"not a plain relative path: {path!r}")
    return parts


def open_root(path: str) -> int:
    """A descriptor of a directory that the person named; the only open by name."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


@contextmanager
def parent_of(
    root_fd: int, path: str, *, create: bool = False, mode: int = 0o777
) -> Iterator[tuple[int, str]]:
    """The descriptor of `path`'s parent, and its last part. Raises OSError (ENOTDIR, ELOOP: a link)."""
    *folders, name = parts_of(path)
    fd = os.dup(root_fd)
    try:
        for folder in folders:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(folder, mode, dir_fd=fd)
            fd, old = os.open(folder, _DIR, dir_fd=fd), fd
            os.close(old)
        yield fd, name
    finally:
        os.close(fd)


def read_regular(root_fd: int, path: str, max_bytes: int) -> bytes:
    """A regular file's bytes. Raises OSError for links, FIFOs, devices, and ValueError past `max_bytes`."""
    with parent_of(root_fd, path) as (parent, name):
        # O_NONBLOCK: a FIFO swapped in after the look must not hang the open
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(f"not a regular file: {path!r}")
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ValueError(f"{path!r} is larger than {max_bytes} bytes")
    return data


def lstat(root_fd: int, path: str) -> os.stat_result | None:
    """What stands at `path`, its last part not followed; None where nothing does."""
    try:
        with parent_of(root_fd, path) as (parent, name):
            return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
