"""Carry one operation out, atomically, through descriptors that follow no link (DESIGN §3.2).

New bytes wait in a slot of the private folder. An exchange puts them in place and the old ones
into the slot; an undo is the same exchange again. Where slot and workspace lie on two file
systems, a temporary name beside the target stands in, and `recover` knows it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress

from agent_security.changes.journal import Op
from agent_security.changes.moves import copy_node, exchange, move_new, set_mode, writable
from agent_security.changes.tree import State, Tree, state_at
from agent_security.changeset import Node

Checkpoint = Callable[[str], None]
"""Called with the name of each point a crash may fall on; tests raise there."""


class Conflict(Exception):
    """What stands there is not what was planned for; nothing was changed at this path."""


def same(
    expected: State | None, found: State | None, digest: Callable[[], str | None], compares: str
) -> bool:
    """Whether what was found is what is expected, judged by what the operation compares (`Op.compares`)."""
    if expected is None or found is None:
        return expected is None and found is None
    if expected.node is not found.node or expected.node is Node.OTHER:
        return False
    if compares == "kind":
        return True
    if expected.node is Node.LINK:
        return expected.target == found.target
    if expected.mode != found.mode or compares == "mode":
        return expected.mode == found.mode
    if expected.ident and expected.ident == found.ident:
        return True
    if expected.size != found.size:
        return False
    # a deleted file, or one too large for a digest: a copy keeps the time of the last write
    return expected.digest == digest() if expected.digest else expected.ident[3:] == found.ident[3:]


class Engine:
    """Works on one tree with one folder of slots. `owner` is set when running as root."""

    def __init__(self, tree: Tree, kept: str, owner: tuple[int, int] | None, checkpoint: Checkpoint) -> None:
        self._tree, self._kept, self._owner, self.checkpoint = tree, kept, owner, checkpoint

    def temporary(self, op: Op) -> str:
        """The name that stands in for the slot beside the target, on two file systems."""
        return f".agent-security-{op.slot.replace('/', '-')}.tmp"

    def keep(self, op: Op, fd: int, name: str) -> None:
        """Copy a file of the workspace into the operation's slot. Raises OSError."""
        slot_fd = self._slot_fd(op)
        try:
            self._copy_out(fd, name, slot_fd, op.slot.partition("/")[2])
        finally:
            os.close(slot_fd)

    # --- one operation ------------------------------------------------------------------------

    def perform(self, op: Op) -> tuple[int, ...]:
        """Carry one operation out; returns what stands there since. Raises Conflict, Blocked, OSError."""
        self.checkpoint(f"before {op.path}")
        slot_fd = self._slot_fd(op) if op.slot else -1
        try:
            with self._tree.parent(op.path) as (fd, name), writable(fd):
                self._expect(op, state_at(fd, name))
                if op.slot:
                    self._move(op, fd, name, slot_fd)
                else:
                    self._folder_or_mode(op, fd, name)
                after = state_at(fd, name)
        finally:
            if slot_fd >= 0:
                os.close(slot_fd)
        if op.compares == "kind":
            self._tree.forget()
        self.checkpoint(f"after {op.path}")
        return after.ident if after is not None else ()

    def _slot_fd(self, op: Op) -> int:
        return os.open(os.path.join(self._kept, op.slot.partition("/")[0]), os.O_RDONLY | os.O_DIRECTORY)

    def _expect(self, op: Op, found: State | None) -> None:
        was = op.was
        if (was is None) != (found is None) or (was and found and was.node is not found.node):
            raise Conflict("something else stands there now" if found else "it was removed meanwhile")
        if was and found and not was.is_folder and was.ident and not was.moved_to(found):
            raise Conflict("it was changed meanwhile")

    def _folder_or_mode(self, op: Op, fd: int, name: str) -> None:
        if op.now is None:
            os.rmdir(name, dir_fd=fd)
        elif op.was is None:
            os.mkdir(name, 0o700, dir_fd=fd)
            if self._owner is not None:
                os.chown(name, *self._folder_owner(fd), dir_fd=fd, follow_symlinks=False)
            set_mode(fd, name, op.now.mode)
        else:
            set_mode(fd, name, op.now.mode)

    def _folder_owner(self, fd: int) -> tuple[int, int]:
        above = os.fstat(fd)
        uid, gid = self._owner or (-1, -1)
        return uid, above.st_gid if above.st_mode & stat.S_ISGID else gid

    def _move(self, op: Op, fd: int, name: str, slot_fd: int) -> None:
        slot = op.slot.partition("/")[2]
        if op.was is None:
            self._place(op, fd, name, slot_fd, slot)
        elif op.now is None:
            self._take(op, fd, name, slot_fd, slot)
        else:
            self._swap(op, fd, name, slot_fd, slot)

    def _place(self, op: Op, fd: int, name: str, slot_fd: int, slot: str) -> None:
        try:
            move_new(slot_fd, slot, fd, name)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            temporary = self._copy_beside(op, fd, slot_fd, slot)
            try:
                move_new(fd, temporary, fd, name)
            except OSError:
                os.unlink(temporary, dir_fd=fd)
                raise
            self.checkpoint(f"beside {op.path}")
            os.unlink(slot, dir_fd=slot_fd)

    def _take(self, op: Op, fd: int, name: str, slot_fd: int, slot: str) -> None:
        try:
            os.rename(name, slot, src_dir_fd=fd, dst_dir_fd=slot_fd)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            self._copy_out(fd, name, slot_fd, slot)
            self.checkpoint(f"beside {op.path}")
            self._expect(op, state_at(fd, name))
            os.unlink(name, dir_fd=fd)
            return
        if op.was is not None and op.was.ident and not op.was.moved_to(state_at(slot_fd, slot)):
            move_new(slot_fd, slot, fd, name)
            raise Conflict("it was changed meanwhile")

    def _swap(self, op: Op, fd: int, name: str, slot_fd: int, slot: str) -> None:
        try:
            exchange(slot_fd, slot, fd, name)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            self._swap_across(op, fd, name, slot_fd, slot)
            return
        if op.was is not None and op.was.ident and not op.was.moved_to(state_at(slot_fd, slot)):
            exchange(slot_fd, slot, fd, name)
            raise Conflict("it was changed meanwhile")

    def _swap_across(self, op: Op, fd: int, name: str, slot_fd: int, slot: str) -> None:
        temporary = self._copy_beside(op, fd, slot_fd, slot)
        swapped = False
        try:
            exchange(fd, temporary, fd, name)
            swapped = True
            self.checkpoint(f"beside {op.path}")
            if op.was is not None and op.was.ident and not op.was.moved_to(state_at(fd, temporary)):
                raise Conflict("it was changed meanwhile")
            self._copy_out(fd, temporary, slot_fd, slot)
        except (OSError, Conflict):
            if swapped:
                exchange(fd, temporary, fd, name)
            os.unlink(temporary, dir_fd=fd)
            raise
        os.unlink(temporary, dir_fd=fd)

    def _copy_beside(self, op: Op, fd: int, slot_fd: int, slot: str) -> str:
        temporary = self.temporary(op)
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=fd)
        try:
            copy_node(slot_fd, slot, fd, temporary)
        except OSError:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=fd)
            raise
        return temporary

    def _copy_out(self, fd: int, name: str, slot_fd: int, slot: str) -> None:
        """Copy what stands in the workspace into the slot, whole or not at all."""
        part = f"{slot}.part"
        with suppress(FileNotFoundError):
            os.unlink(part, dir_fd=slot_fd)
        copy_node(fd, name, slot_fd, part)
        os.rename(part, slot, src_dir_fd=slot_fd, dst_dir_fd=slot_fd)
