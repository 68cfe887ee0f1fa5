"""Apply a step: fill its slots, carry its operations out in order, take them back where that is due."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import replace

from agent_security.changes.engine import Conflict, Engine, same
from agent_security.changes.journal import Op, Step, settled
from agent_security.changes.moves import copy_node, exchange, strip_attributes
from agent_security.changes.tree import Blocked, State, Tree, state_at
from agent_security.changeset import Change, ChangeSet, Node
from agent_security.errors import ChangeError

_FULL = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
)
"""What is wrong with the machine and not with one path."""


# --- slots ----------------------------------------------------------------------------------------


class Staged:
    """The new bytes of one change set, read below its root and nowhere else."""

    def __init__(self, changes: ChangeSet) -> None:
        self._root = changes.root or ""
        self._fd = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) if self._root else -1
        self._tree = Tree(self._fd)

    def __enter__(self) -> Staged:
        return self

    def __exit__(self, *_: object) -> None:
        self._tree.close()
        if self._fd >= 0:
            os.close(self._fd)

    def move_to(self, change: Change, to_fd: int, to: str) -> None:
        """Move a change's new bytes to a private name. Raises ChangeError."""
        staged = change.staged or ""
        if self._fd < 0 or not staged.startswith(f"{self._root}/"):
            raise ChangeError(f"{change.path}: its new bytes are not where they should be")
        try:
            with self._tree.parent(staged[len(self._root) + 1 :]) as (fd, name):
                fetch(fd, name, to_fd, to)
        except (OSError, ValueError, Blocked) as error:
            raise ChangeError(f"{change.path}: its new bytes cannot be read: {error}") from error


def fetch(fd: int, name: str, to_fd: int, to: str) -> None:
    """Move a private regular file to another private folder; a copy where another name shares its bytes."""
    seen = os.stat(name, dir_fd=fd, follow_symlinks=False)
    if not stat.S_ISREG(seen.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", name)
    if seen.st_nlink == 1:
        try:
            os.rename(name, to, src_dir_fd=fd, dst_dir_fd=to_fd)
            return
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
    copy_node(fd, name, to_fd, to)


def fill_slot(op: Op, change: Change, staged: Staged, kept: str, owner: tuple[int, int] | None) -> Op:
    """Bring the bytes of `op.now` into its slot, dressed as they shall stand. Raises ChangeError, OSError."""
    folder, _, slot = os.path.join(kept, op.slot).rpartition("/")
    path = f"{folder}/{slot}"
    if op.now is None:
        raise ChangeError(f"{op.path}: nothing to place")
    if op.now.node is Node.LINK:
        os.symlink(op.now.target or "", path)
    else:
        to_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            staged.move_to(change, to_fd, slot)
        finally:
            os.close(to_fd)
    _dress(op, path, owner)
    seen = os.lstat(path)
    ident = (seen.st_dev, seen.st_ino, seen.st_ctime_ns, seen.st_mtime_ns)
    return replace(op, now=replace(op.now, ident=ident, size=seen.st_size))


def _dress(op: Op, path: str, owner: tuple[int, int] | None) -> None:
    """Owner, mode and attributes that the file shall have in the workspace."""
    if owner is not None:
        uid, gid = op.was.owner if op.was is not None else owner
        os.chown(path, uid, gid, follow_symlinks=False)
    if op.now is not None and op.now.node is Node.FILE:
        strip_attributes(path)
        if stat.S_IMODE(os.lstat(path).st_mode) != op.now.mode:
            os.chmod(path, op.now.mode)


# --- steps ----------------------------------------------------------------------------------------


def run(engine: Engine, step: Step, *, keep_going: bool) -> dict[str, str]:
    """Carry a step out in order; returns what was left alone, and why.

    A machine out of order (disk full) raises OSError, or with `keep_going` is noted.
    """
    left: dict[str, str] = {}
    for number, op in enumerate(step.ops):
        try:
            step.done[number] = engine.perform(op)
        except (Conflict, Blocked) as error:
            left[op.path] = str(error)
        except OSError as error:
            if error.errno in _FULL and not keep_going:
                raise
            left[op.path] = os.strerror(error.errno or 0).lower()
    return left


def take_back(engine: Engine, step: Step) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
    """Undo what a step has done so far.

    Returns path -> what stands there since, and path -> why it could not be taken back.
    """
    back: dict[str, tuple[int, ...]] = {}
    left: dict[str, str] = {}
    for number in sorted(step.done, reverse=True):
        op = settled(step.ops[number], step.done[number]).inverse(number)
        try:
            back[op.path] = engine.perform(op)
        except (Conflict, Blocked, OSError) as error:
            left[op.path] = str(error)
    return back, left


def find_done(engine: Engine, tree: Tree, step: Step) -> dict[str, str]:
    """After a crash: fill `step.done` from what stands in the workspace; returns what fits no state."""
    chains: dict[str, list[int]] = {}
    for number, op in enumerate(step.ops):
        chains.setdefault(op.path, []).append(number)
        _clear_temporary(engine, tree, op)
    left: dict[str, str] = {}
    for path, numbers in chains.items():
        found = _look(tree, path)
        for count in range(len(numbers), -1, -1):
            op = step.ops[numbers[max(count - 1, 0)]]
            expected = op.now if count else op.was
            if same(expected, found, lambda path=path: tree.digest(path), op.compares):  # type: ignore[misc]
                step.done |= dict.fromkeys(numbers[:count], found.ident if found else ())
                break
        else:
            left[path] = "it is neither as it was nor as it was to be"
    return left


def _clear_temporary(engine: Engine, tree: Tree, op: Op) -> None:
    """Remove a stand-in that a crash left beside the target; it may hold the only copy of the old bytes."""
    if not op.slot:
        return
    temporary = engine.temporary(op)
    with suppress(OSError, Blocked), tree.parent(op.path) as (fd, name):
        beside = state_at(fd, temporary)
        if beside is None:
            return
        if op.was is not None and op.was.ident[1:2] == beside.ident[1:2]:
            if same(op.now, state_at(fd, name), lambda: tree.digest(op.path), op.compares):
                exchange(fd, temporary, fd, name)
            else:
                engine.keep(op, fd, temporary)
        os.unlink(temporary, dir_fd=fd)


def _look(tree: Tree, path: str) -> State | None:
    try:
        return tree.state(path)
    except Blocked:
        return None
