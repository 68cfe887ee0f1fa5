"""Which changes to run-later files run nothing: judged by their content (DESIGN §3.2, D11)."""

from __future__ import annotations

import os
import posixpath
import re

from agent_security.changes.git_config import Parsed, inert_change
from agent_security.changeset import Change, ChangeKind, ChangeSet, Node
from agent_security.descriptors import lstat, open_root, read_regular

_MAX_BYTES = 1024 * 1024
_TODO_RUNS = re.compile(rb"^\s*(?:exec|x)\s", re.MULTILINE)


class Before:
    """The bytes of a path before and after a change set. None stands for: not to be read."""

    def __init__(self, workspace_fd: int, changes: ChangeSet) -> None:
        self._fd, self._root = workspace_fd, changes.root or ""

    @property
    def workspace(self) -> str:
        """The workspace's own absolute path, for back-pointers that name it."""
        return os.readlink(f"/proc/self/fd/{self._fd}")

    def old(self, path: str) -> bytes | None:
        try:
            return read_regular(self._fd, path, _MAX_BYTES)
        except FileNotFoundError:
            return b""
        except (OSError, ValueError):
            return None

    def same_file(self, change: Change) -> bool:
        """Whether a file was only written again: the same bytes, and no program that was none before."""
        old = self.old(change.path)
        if not old or change.node is not Node.FILE or old != self.new(change):
            return False
        found = lstat(self._fd, change.path)
        gained = (change.mode or 0) & 0o111 & ~(found.st_mode if found else 0)
        return not gained

    def new(self, change: Change) -> bytes | None:
        if change.kind is ChangeKind.DELETED:
            return b""
        if change.kind is ChangeKind.MODE:
            return self.old(change.path)
        if (
            change.node is not Node.FILE
            or not change.staged
            or not change.staged.startswith(f"{self._root}/")
        ):
            return None
        try:
            fd = open_root(self._root)
        except OSError:
            return None
        try:
            return read_regular(fd, change.staged[len(self._root) + 1 :], _MAX_BYTES)
        except (OSError, ValueError):
            return None
        finally:
            os.close(fd)


def is_inert(change: Change, path: str, before: Before) -> bool:
    """Whether a change to a run-later path runs and redirects nothing.

    `path` is the change's own with every repository's folder called `.git`.
    """
    inside = f"/{path}".rpartition("/.git/")[2] if "/.git/" in f"/{path}" else ""
    name = path.rpartition("/")[2]
    if change.node is Node.OTHER:
        return False
    if change.kind is ChangeKind.CHANGED and before.same_file(change):
        return True
    if inside and "hooks/" in inside and name.endswith(".sample") and change.node is Node.FILE:
        return True
    if inside and name in ("config", "config.worktree"):
        return _config(change, path, before)
    if change.node is not Node.FILE:
        return False
    new = before.new(change)
    if name == ".git":
        return new is not None and _points_home(change.path, new, before)
    if inside and name == "commondir":
        return new is not None and inside.startswith("worktrees/") and new.strip() in (b"../..", b"")
    if name == "git-rebase-todo":
        return new is not None and not _TODO_RUNS.search(new)
    return False


def _config(change: Change, path: str, before: Before) -> bool:
    old, new = before.old(change.path), before.new(change)
    if old is None or new is None:
        return False
    keys = inert_change(old, new)
    if keys == ["core.worktree"] and "/modules/" in path:
        values = Parsed(new).values().get("core.worktree", [])
        return all(_stays_inside(path, value or "") for value in values)
    return not keys


def _stays_inside(path: str, value: str) -> bool:
    """A submodule's configuration names its work tree; one inside the workspace redirects nothing."""
    if posixpath.isabs(value):
        return False
    where = posixpath.normpath(posixpath.join(posixpath.dirname(path), value))
    return not where.startswith("..") and "/.git" not in f"/{where}"


def _points_home(path: str, data: bytes, before: Before) -> bool:
    """A `.git` file of a submodule or worktree that leads to a git folder below this workspace's own."""
    if not data:
        return True
    match = re.fullmatch(rb"gitdir: ([^\0\n]+)\n?", data)
    if match is None:
        return False
    target = os.fsdecode(match[1])
    if posixpath.isabs(target):
        target = posixpath.relpath(posixpath.normpath(target), before.workspace)
    else:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return (
        re.fullmatch(r"(?:(?!\.\.)[^/]+/)*?\.git/(?:modules/(?:(?!\.\.)[^/]+/?)+|worktrees/[^/]+/?)", target)
        is not None
    )
