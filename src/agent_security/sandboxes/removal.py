"""Remove a tree that hostile code made: any depth, any mode, no link followed."""

from __future__ import annotations

import os
import stat

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(path: str) -> None:
    """Remove `path` and all below it, with two descriptors open however deep it goes.

    Sub-folders are moved up beside one another instead of being walked into, so that neither
    recursion nor path length can run out. Nothing there is no error; what cannot be removed stays.
    """
    try:
        _open_up(path)
        root = os.open(path, _FOLDER)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        _empty(root)
    finally:
        os.close(root)
    try:
        os.rmdir(path)
    except OSError:
        return


def _empty(root: int) -> None:
    """Empty the folder `root` stands for."""
    waiting = _take_apart(root, root, [])
    while waiting:
        name = waiting.pop()
        try:
            folder = os.open(name, _FOLDER, dir_fd=root)
        except OSError:
            continue
        try:
            _take_apart(folder, root, waiting)
        finally:
            os.close(folder)
        try:
            os.rmdir(name, dir_fd=root)
        except OSError:
            continue


def _take_apart(folder: int, root: int, waiting: list[str]) -> list[str]:
    """Unlink the files of `folder`; its sub-folders go up into `root`, under names of our own."""
    for name in os.listdir(folder):
        try:
            if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=folder)
                continue
            _open_up(name, folder)
            moved = f".gone-{os.urandom(8).hex()}"
            os.rename(name, moved, src_dir_fd=folder, dst_dir_fd=root)
            waiting.append(moved)
        except OSError:
            continue
    return waiting


def _open_up(name: str, dir_fd: int | None = None) -> None:
    """Give the owner back the bits that listing and moving take; the kernel's work folder has none."""
    fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        found = os.fstat(fd)
        if stat.S_ISDIR(found.st_mode) and found.st_mode & 0o700 != 0o700:
            os.chmod(
                f"/proc/self/fd/{fd}", 0o700
            )  # through the descriptor: a name could be swapped for a link
    finally:
        os.close(fd)


def measured_bytes(path: str, *, most_entries: int = 200_000) -> int:
    """How many bytes a private folder takes on disk; past `most_entries` entries it is too much."""
    total, entries = 0, 0
    for _folder, folders, files, fd in os.fwalk(path, follow_symlinks=False):
        entries += len(folders) + len(files)
        if entries > most_entries:
            return 1 << 62
        for name in files:
            try:
                total += os.stat(name, dir_fd=fd, follow_symlinks=False).st_blocks * 512
            except OSError:
                continue
    return total
