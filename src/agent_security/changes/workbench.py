"""What every step of a store needs: the tree, the slots, the journal and the lock."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from agent_security.changes.apply import Staged, fill_slot, find_done, run, take_back
from agent_security.changes.engine import Checkpoint, Engine
from agent_security.changes.journal import Journal, Op, Step
from agent_security.changes.plan import Plan
from agent_security.changes.results import Undone
from agent_security.changes.tree import Tree
from agent_security.changeset import ChangeSet
from agent_security.descriptors import open_root
from agent_security.errors import ChangeError, UsageError


class Workbench:
    """One workspace and one private folder outside it. Raises UsageError, OSError."""

    def __init__(self, working_dir: str, folder: str, checkpoint: Checkpoint | None) -> None:
        real, private = os.path.realpath(working_dir), os.path.realpath(folder)
        if os.path.commonpath([real, private]) == real:
            raise UsageError("the session's folder must lie outside the workspace")
        self.folder = private
        self.kept = os.path.join(private, "kept")
        os.makedirs(self.kept, mode=0o700, exist_ok=True)
        self.root_fd = open_root(real)
        self.tree = Tree(self.root_fd)
        self.journal = Journal(os.path.join(private, "journal"))
        self.checkpoint: Checkpoint = checkpoint or (lambda _: None)
        self.engine = Engine(self.tree, self.kept, self.owner(), self.checkpoint)

    def close(self) -> None:
        self.tree.close()
        if self.root_fd >= 0:
            os.close(self.root_fd)
            self.root_fd = -1

    def owner(self) -> tuple[int, int] | None:
        """Who new files shall belong to: as root, the workspace's owner."""
        seen = os.fstat(self.root_fd)
        return (seen.st_uid, seen.st_gid) if os.geteuid() == 0 else None

    def slots(self, number: int) -> str:
        """The folder of one step's slots, made where it is missing."""
        path = os.path.join(self.kept, f"{number:06}")
        os.makedirs(path, mode=0o700, exist_ok=True)
        return path

    def filled(self, plan: Plan, changes: ChangeSet, number: int) -> list[Op]:
        """The plan's operations with their new bytes in their slots. Raises ChangeError, OSError."""
        if plan.ops:
            self.slots(number)
        ops, owner = list(plan.ops), self.owner()
        with Staged(changes) as staged:
            for at, change in plan.staged.items():
                ops[at] = fill_slot(ops[at], change, staged, self.kept, owner)
        return ops

    def carry_out(self, step: Step, *, keep_going: bool = False) -> dict[str, str]:
        """Journal, do, journal; returns what was left alone, and why.

        On a machine out of order everything is taken back and OSError raised; ChangeError where
        even that did not work. With `keep_going` the rest is done and the failure noted.
        """
        step.at_ns = time.time_ns()
        self.tree.forget()
        self.journal.begin(step)
        self.checkpoint("journaled")
        try:
            left = run(self.engine, step, keep_going=keep_going)
            self.checkpoint("carried out")
            self.journal.finish(step)  # one that cannot be written has to be taken back too
        except OSError:
            back, stuck = take_back(self.engine, step)
            with suppress(OSError):  # it stays pending then, and `settle` finds nothing left to do
                self.journal.take_back(step, back)
            if stuck:
                raise ChangeError(f"it failed, and could not be taken back at: {', '.join(stuck)}") from None
            raise
        self.tree.forget()
        return left

    def settle(self) -> Undone:
        """Read what other processes did, and take back what a crash left half done."""
        self.journal.load()
        calls: list[str] = []
        restored: dict[str, str] = {}
        conflicts: dict[str, str] = {}
        for step in self.journal.pending():
            self.tree.forget()
            left = find_done(self.engine, self.tree, step)
            back, stuck = take_back(self.engine, step)
            self.journal.take_back(step, back)
            calls.append(step.call_id)
            conflicts |= left | stuck
            restored |= {path: "restored" for path in sorted(back) if path not in stuck}
        self.tree.forget()
        return Undone(tuple(calls), restored, conflicts)

    @contextmanager
    def locked(self) -> Iterator[Undone]:
        """One process at a time, on a settled journal. Raises ChangeError while another one works."""
        fd = os.open(os.path.join(self.folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ChangeError("another process is changing this workspace") from error
            yield self.settle()
        finally:
            os.close(fd)


def default_modes() -> tuple[int, int]:
    """Modes of a new file and a new folder under the process's umask, which is read and not set."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            line = next((line for line in file if line.startswith("Umask:")), "")
        umask = int(line.partition(":")[2], 8)
    except (OSError, ValueError):
        umask = stat.S_IWGRP | stat.S_IWOTH
    return 0o666 & ~umask, 0o777 & ~umask
