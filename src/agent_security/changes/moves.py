"""Moves of single files that lose nothing, and copies for where a move cannot be had.

A file goes into the workspace by exchange: one atomic step puts the new bytes in place and hands
the old ones out, so whatever stood there, a save of this very moment included, is never lost.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_NOREPLACE, _EXCHANGE = 1, 2
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
_CHUNK_BYTES = 1 << 24
_STRIPPED = ("user.overlay.", "trusted.overlay.", "security.capability", "security.ima", "security.evm")
"""Attributes never carried into the workspace: the view's own marks, and rights in disguise."""


def _libc_rename() -> Callable[..., int] | None:
    libc = ctypes.CDLL(None, use_errno=True)
    call = getattr(libc, "renameat2", None)
    if call is not None:
        call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return call


_renameat2 = _libc_rename()


def _rename(from_fd: int, name: str, to_fd: int, to: str, flags: int) -> bool:
    """One renameat2. False where this system or file system does not know the flag."""
    if _renameat2 is None:
        return False
    if _renameat2(from_fd, os.fsencode(name), to_fd, os.fsencode(to), flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), to)


def exchange(from_fd: int, name: str, to_fd: int, to: str) -> None:
    """Swap two names of one file system. Raises OSError (EXDEV: they are not on one)."""
    if _rename(from_fd, name, to_fd, to, _EXCHANGE):
        return
    # without the flag: the old file gets a second name first, so that it is never without one
    spare = f"{name}.old"
    try:
        os.link(to, spare, src_dir_fd=to_fd, dst_dir_fd=from_fd, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK):
            raise
        copy_node(to_fd, to, from_fd, spare)
    os.rename(name, to, src_dir_fd=from_fd, dst_dir_fd=to_fd)
    os.rename(spare, name, src_dir_fd=from_fd, dst_dir_fd=from_fd)


def move_new(from_fd: int, name: str, to_fd: int, to: str) -> None:
    """Move to a name that nothing has. Raises FileExistsError, and OSError (EXDEV)."""
    if _rename(from_fd, name, to_fd, to, _NOREPLACE):
        return
    with suppress(PermissionError):  # a file system without hard links
        os.link(name, to, src_dir_fd=from_fd, dst_dir_fd=to_fd, follow_symlinks=False)
        os.unlink(name, dir_fd=from_fd)
        return
    with suppress(FileNotFoundError):
        os.stat(to, dir_fd=to_fd, follow_symlinks=False)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), to)
    os.rename(name, to, src_dir_fd=from_fd, dst_dir_fd=to_fd)


def copy_node(from_fd: int, name: str, to_fd: int, to: str) -> None:
    """Copy a file or link to a new name: bytes, holes, mode, times, owner (as root), attributes."""
    seen = os.stat(name, dir_fd=from_fd, follow_symlinks=False)
    if stat.S_ISLNK(seen.st_mode):
        os.symlink(os.readlink(name, dir_fd=from_fd), to, dir_fd=to_fd)
    else:
        _copy_file(from_fd, name, to_fd, to)
    if os.geteuid() == 0:
        os.chown(to, seen.st_uid, seen.st_gid, dir_fd=to_fd, follow_symlinks=False)
    if stat.S_ISREG(seen.st_mode):
        # after the owner: a change of owner drops bits
        set_mode(to_fd, to, stat.S_IMODE(seen.st_mode))
    os.utime(to, ns=(seen.st_atime_ns, seen.st_mtime_ns), dir_fd=to_fd, follow_symlinks=False)


def _copy_file(from_fd: int, name: str, to_fd: int, to: str) -> None:
    source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=from_fd)
    try:
        if not stat.S_ISREG(os.fstat(source).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        target = os.open(to, flags, 0o600, dir_fd=to_fd)
        try:
            _copy_bytes(source, target)
            _copy_attributes(source, target)
        finally:
            os.close(target)
    finally:
        os.close(source)


def _copy_bytes(source: int, target: int) -> None:
    size = os.fstat(source).st_size
    os.truncate(target, size)
    for start, end in _data_of(source, size):
        os.lseek(source, start, os.SEEK_SET)
        os.lseek(target, start, os.SEEK_SET)
        left = end - start
        while left and (sent := os.sendfile(target, source, None, min(left, _CHUNK_BYTES))):
            left -= sent


def _data_of(fd: int, size: int) -> Iterator[tuple[int, int]]:
    """The (start, end) ranges of a file that hold data; one range where holes cannot be seen."""
    at = 0
    while at < size:
        try:
            at = os.lseek(fd, at, os.SEEK_DATA)
            end = os.lseek(fd, at, os.SEEK_HOLE)
        except OSError as error:
            if error.errno != errno.ENXIO:
                yield at, size
            return
        yield at, end
        at = end


def _copy_attributes(source: int, target: int) -> None:
    with suppress(OSError):
        for name in os.listxattr(source):
            if not name.startswith(_STRIPPED):
                with suppress(OSError):
                    os.setxattr(target, name, os.getxattr(source, name))


def strip_attributes(path: str) -> None:
    """Remove the attributes that must not reach the workspace from a private file. OSError where it fails."""
    try:
        names = os.listxattr(path, follow_symlinks=False)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return
        raise
    for name in names:
        if name.startswith(_STRIPPED):
            os.removexattr(path, name, follow_symlinks=False)


def set_mode(fd: int, name: str, mode: int) -> None:
    """chmod without following a link, and without the right to read. Raises OSError (ELOOP: a link)."""
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    try:
        if stat.S_ISLNK(os.fstat(handle).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        os.chmod(f"/proc/self/fd/{handle}", mode)
    finally:
        os.close(handle)


@contextmanager
def writable(fd: int) -> Iterator[None]:
    """The folder behind `fd` takes changes while this lasts, whatever its own mode says."""
    mode = stat.S_IMODE(os.fstat(fd).st_mode)
    if mode & 0o300 == 0o300 or os.geteuid() == 0:
        yield
        return
    os.fchmod(fd, mode | 0o300)
    try:
        yield
    finally:
        os.fchmod(fd, mode)
