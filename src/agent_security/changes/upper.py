"""Read a change set: the upper directory of a view IS what its command did (DESIGN §3.2).

The cost follows what changed and not the size of the tree, except below a folder that was
deleted or replaced, where each lower name has to be listed. The lower side, the person's tree,
is looked at through descriptors that follow no link.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress

from agent_security.changes.git_config import ConfigProblem
from agent_security.changes.git_merge import mask_config, merge_config
from agent_security.changes.moves import set_mode
from agent_security.changes.plan import above
from agent_security.changes.tree import Blocked, State, Tree, state_at
from agent_security.changeset import Change, ChangeKind, ChangeSet, Node
from agent_security.descriptors import open_root, read_regular
from agent_security.errors import ChangeError

MAX_ENTRIES = 1_000_000
"""More names than this, upper and deleted ones together, are no change set."""
_CONFIG_MAX_BYTES = 4 * 1024 * 1024
NO_DIGEST = "0" * 64
_MARKS = ("user.overlay.", "trusted.overlay.")
"""The kernel's own marks have one word after these. What a command sets under such a name the kernel
keeps as `user.overlay.overlay.opaque`, which is nobody's mark."""


def read_upper(
    upper_dir: str, workspace_fd: int, *, since_ns: int, masked: Collection[str] = ()
) -> ChangeSet:
    """What differs from the workspace, parents before children.

    `masked` paths, and what lies below them, never come out, their deletion neither; a masked
    `.git/config` comes out merged key by key into the real one. Staged bytes stay in `upper_dir`,
    which must not be in use any more. Raises ChangeError where it cannot be read exactly.
    """
    upper_fd = open_root(upper_dir)
    try:
        with Tree(upper_fd) as upper, Tree(workspace_fd) as lower:
            reader = _Reader(upper_dir, upper, lower, workspace_fd, frozenset(masked))
            changes = sorted(reader.read(), key=lambda change: change.path)
    except (OSError, Blocked, ValueError) as error:
        raise ChangeError(f"what the command changed cannot be read: {error}") from error
    finally:
        os.close(upper_fd)
    return ChangeSet(tuple(changes), since_ns, upper_dir)


class _Reader:
    """One walk of one upper directory. Iterative: a tree may be deeper than Python's stack."""

    def __init__(self, root: str, upper: Tree, lower: Tree, lower_fd: int, masked: frozenset[str]) -> None:
        self._root, self._upper, self._lower, self._lower_fd = root, upper, lower, lower_fd
        self._masked = masked
        self._above_masked = {folder for path in masked for folder in above(path)}
        self._folders: list[tuple[str, bool, bool]] = [("", True, False)]
        self._count = 0

    def read(self) -> Iterator[Change]:
        while self._folders:
            path, has_lower, opaque = self._folders.pop()
            states = self._entries(path)
            opaque = opaque or self._is_opaque(path)
            if has_lower and opaque:
                yield from self._missing(path, {name for name, _ in states})
            for name, state in states:
                yield from self._entry(f"{path}/{name}" if path else name, state, has_lower, opaque)

    def _entries(self, path: str) -> list[tuple[str, State]]:
        with self._upper.folder(path) as fd:
            states = [(name, state_at(fd, name)) for name in sorted(os.listdir(fd))]
        self._counted(len(states))
        return [(name, state) for name, state in states if state is not None]

    def _open_up(self, path: str, mode: int, needed: int) -> None:
        """What the command closed to itself is closed to an ordinary user too."""
        if mode & needed != needed:
            with suppress(PermissionError), self._upper.parent(path) as (fd, name):
                set_mode(fd, name, mode | needed)

    def _counted(self, more: int) -> None:
        self._count += more
        if self._count > MAX_ENTRIES:
            raise ChangeError(f"more than {MAX_ENTRIES} names changed")

    def _is_masked(self, path: str) -> bool:
        return path in self._masked or any(folder in self._masked for folder in above(path))

    # --- one entry ----------------------------------------------------------------------------

    def _entry(self, path: str, state: State, has_lower: bool, opaque: bool) -> Iterator[Change]:
        is_config = path in self._masked and is_git_config(path)
        if self._is_masked(path) and not is_config:
            return
        old = self._lower.state(path) if has_lower else None
        if self._is_whiteout(path, state):
            if old is not None:
                yield from self._deleted(path, old)
            return
        if state.is_folder:
            self._open_up(path, state.mode, 0o700)
            self._folders.append((path, old is not None and old.is_folder, opaque))
            yield from self._folder(path, state, old)
            return
        if old is not None and old.is_folder:
            yield from self._missing(path, set())
        if state.node is Node.FILE:
            yield from self._file(path, state, old, is_config)
        elif state.node is Node.LINK:
            if old is None or old.target != state.target:
                yield Change(path, _kind(old), Node.LINK, None, state.target)
        else:
            yield Change(path, _kind(old), Node.OTHER, state.mode)

    def _folder(self, path: str, state: State, old: State | None) -> Iterator[Change]:
        if old is None or not old.is_folder:
            yield Change(path, _kind(old), Node.DIRECTORY, state.mode, before=self._before(path, old))
        elif old.mode != state.mode:
            yield Change(path, ChangeKind.MODE, Node.DIRECTORY, state.mode)

    def _before(self, path: str, old: State | None) -> str | None:
        return self._lower.digest(path) if old is not None and old.node is Node.FILE else None

    def _file(self, path: str, state: State, old: State | None, is_config: bool) -> Iterator[Change]:
        self._open_up(path, state.mode, 0o600 if is_config else 0o400)
        self._refuse_marks(path)
        before = self._before(path, old)
        if is_config and not self._merge(path):
            before = NO_DIGEST  # no content has it: left alone and reported as a conflict
        with self._upper.parent(path) as (fd, name):
            size = os.stat(name, dir_fd=fd, follow_symlinks=False).st_size
        after = self._upper.digest(path)
        staged = os.path.join(self._root, path)
        if old is None or before is None or before != after:
            yield Change(path, _kind(old), Node.FILE, state.mode, None, size, before, after, staged)
        elif old.mode != state.mode:
            yield Change(path, ChangeKind.MODE, Node.FILE, state.mode, None, size, before, after)

    def _refuse_marks(self, path: str) -> None:
        """A file whose bytes the kernel kept elsewhere is not all there."""
        with self._upper.parent(path) as (fd, name):
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
        try:
            if "metacopy" in _marks(file):
                raise ChangeError(f"{path}: the view holds its attributes without its bytes")
        finally:
            os.close(file)

    def _merge(self, path: str) -> bool:
        """Carry what the command changed over into the real configuration; False where that is not exact."""
        real = self._read_lower(path)
        try:
            with self._upper.parent(path) as (fd, name):
                new = read_regular(fd, name, _CONFIG_MAX_BYTES)
                merged = merge_config(real, mask_config(real), new)
                if merged != new:
                    file = os.open(name, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
                    with os.fdopen(file, "wb") as out:
                        out.write(merged)
        except ConfigProblem:
            return False
        return True

    def _read_lower(self, path: str) -> bytes:
        try:
            return read_regular(self._lower_fd, path, _CONFIG_MAX_BYTES)
        except FileNotFoundError:
            return b""

    # --- deletions ----------------------------------------------------------------------------

    def _is_whiteout(self, path: str, state: State) -> bool:
        if state.node is not Node.OTHER:
            return False
        with self._upper.parent(path) as (fd, name):
            seen = os.stat(name, dir_fd=fd, follow_symlinks=False)
        return stat.S_ISCHR(seen.st_mode) and seen.st_rdev == 0

    def _is_opaque(self, path: str) -> bool:
        with self._upper.folder(path) as fd:
            marks = _marks(fd)
            if "redirect" in marks:
                raise ChangeError(
                    f"{path}: the view was mounted with redirect_dir, which hides what was moved"
                )
            return "opaque" in marks and os.getxattr(fd, marks["opaque"]) == b"y"

    def _missing(self, path: str, present: set[str]) -> Iterator[Change]:
        """Deletions of what the lower folder holds and the upper one, which hides it, does not."""
        for name in self._lower.names(path):
            below = f"{path}/{name}" if path else name
            if name not in present and (old := self._lower.state(below)) is not None:
                yield from self._deleted(below, old)

    def _deleted(self, path: str, old: State) -> Iterator[Change]:
        pending = [(path, old)]
        while pending:
            path, old = pending.pop()
            self._counted(1)
            if self._is_masked(path) and not is_git_config(path):
                continue
            if old.is_folder:
                for name in self._lower.names(path):
                    below = f"{path}/{name}"
                    if (state := self._lower.state(below)) is not None:
                        pending.append((below, state))
            if not (old.is_folder and self._holds_masked(path)):
                yield Change(path, ChangeKind.DELETED, old.node, old.mode, old.target, old.size)

    def _holds_masked(self, path: str) -> bool:
        """Whether a folder has to stay because a masked file in it, which nobody could see, stays."""
        return path in self._above_masked and any(
            masked.startswith(f"{path}/") and not is_git_config(masked) and self._lower_has(masked)
            for masked in self._masked
        )

    def _lower_has(self, path: str) -> bool:
        try:
            return self._lower.state(path) is not None
        except Blocked:
            return False


def is_git_config(path: str) -> bool:
    """Whether a path is a repository's own configuration, by its name alone."""
    *folders, name = path.split("/")
    return name in ("config", "config.worktree") and ".git" in folders


def _marks(fd: int) -> dict[str, str]:
    """The view's own attributes, mark -> full name; none where the file system has no attributes."""
    try:
        names = os.listxattr(fd)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            return {}
        raise
    return {name.removeprefix(space): name for name in names for space in _MARKS if name.startswith(space)}


def _kind(old: State | None) -> ChangeKind:
    return ChangeKind.CREATED if old is None else ChangeKind.CHANGED
