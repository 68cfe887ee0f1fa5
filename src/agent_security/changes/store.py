"""The change store: the only way into the workspace, and the way back (DESIGN §3.2, D15).

Everything it writes to the workspace stands in a journal first; every byte it replaces is kept
until the person keeps the work or takes it back. One folder a session, outside the workspace.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Collection, Mapping
from contextlib import suppress

from agent_security.changes.difftext import diff_text
from agent_security.changes.engine import Checkpoint
from agent_security.changes.held import NEVER_APPLIED, HeldStore
from agent_security.changes.journal import SNAPSHOT, Op, Step, cancelled, live
from agent_security.changes.moves import copy_node
from agent_security.changes.plan import Planner
from agent_security.changes.results import Applied, Past, Undone
from agent_security.changes.tree import Blocked, State
from agent_security.changes.undo import WayBackPlanner
from agent_security.changes.workbench import Workbench, default_modes
from agent_security.changeset import ChangeSet, Node
from agent_security.errors import ChangeError


class ChangeStore:
    """Applies change sets to one workspace and takes them back. Safe across processes by a lock.

    `working_dir` and `folder` are absolute; `folder` must lie outside `working_dir`, best on its
    file system (a rename then does what else takes a copy). Raises UsageError, OSError. A crash
    of an earlier process is settled before anything else is done.
    """

    def __init__(self, working_dir: str, folder: str, *, checkpoint: Checkpoint | None = None) -> None:
        self._bench = Workbench(working_dir, folder, checkpoint)
        self._held = HeldStore(os.path.join(self._bench.folder, "held"))
        self._keep_mark = os.path.join(self._bench.folder, "keep")

    @property
    def folder(self) -> str:
        """The private folder: journal, old bytes, what is held back."""
        return self._bench.folder

    def close(self) -> None:
        """Give the descriptors back; what is on disk stays."""
        self._bench.close()

    # --- apply --------------------------------------------------------------------------------

    def apply(self, call_id: str, changes: ChangeSet, *, hold: Mapping[str, str]) -> Applied:
        """Apply a change set but for what is held (path -> code); conflicts are left alone and named.

        Raises ChangeError, and then nothing of it is half done.
        """
        if not changes:
            return Applied()
        with self._bench.locked():
            with suppress(FileNotFoundError):
                os.unlink(self._keep_mark)
            return self._apply(call_id, changes, hold)

    def _apply(self, call_id: str, changes: ChangeSet, hold: Mapping[str, str]) -> Applied:
        bench = self._bench
        number = bench.journal.next_number()
        try:
            planner = Planner(bench.tree, bench.journal.own, number, default_modes=default_modes())
            plan = planner.make(changes, hold)
            self._held.add(call_id, changes, plan.held)
            step = Step(number, "apply", call_id, bench.filled(plan, changes, number), group=number)
            left = bench.carry_out(step) if step.ops else {}
        except (OSError, Blocked) as error:
            raise ChangeError(f"the changes could not be applied, nothing was changed: {error}") from error
        finally:
            bench.tree.forget()
        changed = {path: kind for path, kind in plan.changed.items() if path not in left}
        return Applied(changed, plan.held, plan.conflicts | left)

    # --- undo ---------------------------------------------------------------------------------

    def undo(self, *, force: Collection[str] = ()) -> Undone:
        """Take the last call that stands back. `force`: paths to put back although they changed since.

        What stands at such a path now is kept, and `redo` brings it back.
        """
        with self._bench.locked():
            return self._go_back(self._undoable()[-1:], "undo", force)

    def rollback(self, *, force: Collection[str] = ()) -> Undone:
        """Take every call back, newest first. With `force`, also what an earlier undo had to leave alone."""
        with self._bench.locked():
            standing = self._bench.journal.standing()
            steps = [step for step in standing if not step.ref] if force else self._undoable()
            return self._go_back(steps[::-1], "undo", force)

    def redo(self) -> Undone:
        """Bring the state before the last undo or rollback back."""
        with self._bench.locked():
            standing = self._bench.journal.standing()
            undos = [step for step in standing if step.kind == "undo" and not cancelled(step, standing)]
            group = [step for step in undos if step.group == undos[-1].group]
            return self._go_back(group[::-1], "redo", ())

    def _undoable(self) -> list[Step]:
        standing = self._bench.journal.standing()
        return [step for step in standing if not step.ref and not cancelled(step, standing)]

    def _go_back(self, steps: list[Step], kind: str, force: Collection[str]) -> Undone:
        group = self._bench.journal.next_number()
        total = Undone()
        for step in steps:
            one = self._take_back(step, kind, force, group)
            total = Undone(
                total.calls + one.calls, total.restored | one.restored, total.conflicts | one.conflicts
            )
        restored = {path: what for path, what in total.restored.items() if path not in total.conflicts}
        return Undone(total.calls, restored, total.conflicts)

    def _take_back(self, step: Step, kind: str, force: Collection[str], group: int) -> Undone:
        bench, standing = self._bench, self._bench.journal.standing()
        numbers = live(step, standing)
        if cancelled(step, standing):  # undone before, but for what was a conflict then
            numbers = {number for number in numbers if step.ops[number].path in force}
            if not numbers:
                return Undone()
        way = WayBackPlanner(bench.tree, bench.journal.own, force).make(step, numbers)
        back = Step(bench.journal.next_number(), kind, step.call_id, way.ops, ref=step.number, group=group)
        try:
            left = bench.carry_out(back, keep_going=True)
        except OSError as error:
            raise ChangeError(f"nothing was taken back: {error}") from error
        restored = {path: what for path, what in way.restored.items() if path not in left}
        return Undone((step.call_id,), restored, way.conflicts | left)

    def snapshot(self, path: str) -> bool:
        """Keep a file's bytes as they are (§6.3); `rollback` restores them whatever happened since.

        False where this path has one already. Raises ChangeError for what is no file, link or free name.
        """
        bench = self._bench
        with bench.locked():
            if any(step.kind == SNAPSHOT and step.ops[0].path == path for step in self._undoable()):
                return False
            number = bench.journal.next_number()
            try:
                state = bench.tree.state(path, digest=True)
                self._copy_to_slot(path, state, bench.slots(number))
            except (OSError, Blocked, ValueError) as error:
                raise ChangeError(f"{path}: no snapshot: {error}") from error
            op = Op(path, state, None, f"{number:06}/0")
            step = Step(number, SNAPSHOT, "", [op], group=number, at_ns=time.time_ns(), done={0: ()})
            bench.journal.begin(step)
            bench.journal.finish(step)
            return True

    def _copy_to_slot(self, path: str, state: State | None, slots: str) -> None:
        if state is None:
            return
        if state.node not in (Node.FILE, Node.LINK):
            raise ValueError("it is no file")
        to_fd = os.open(slots, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with self._bench.tree.parent(path) as (fd, name):
                copy_node(fd, name, to_fd, "0")
        finally:
            os.close(to_fd)

    # --- held back ----------------------------------------------------------------------------

    def held(self) -> dict[str, str]:
        """Path -> code of what waits for a later yes."""
        return {path: held.code for path, held in sorted(self._held.waiting.items())}

    def held_changes(self, paths: Collection[str] | None = None) -> ChangeSet:
        """What waits, as a change set, to be shown."""
        waiting = sorted(self._held.waiting.items())
        chosen = (held.change for path, held in waiting if paths is None or path in paths)
        return ChangeSet(tuple(chosen), 0, self._held.folder)

    def apply_held(self, paths: Collection[str]) -> Applied:
        """Apply what was held back, after a yes. What is refused in every mode stays held."""
        with self._bench.locked():
            self._held.load()
            codes = self.held()
            refused = {path: codes[path] for path in paths if codes.get(path) in NEVER_APPLIED}
            changed: dict[str, str] = {}
            conflicts: dict[str, str] = {}
            for call_id, changes in self._held.take(paths):
                applied = self._apply(call_id, changes, {})
                changed, conflicts = changed | applied.changed, conflicts | applied.conflicts
            self._held.remove(changed)
            return Applied(changed, refused, conflicts)

    # --- looking, keeping, cleaning -----------------------------------------------------------

    def diff(self, changes: ChangeSet, *, max_bytes: int | None = 64 * 1024) -> str:
        """A change set as a unified diff against the workspace; `max_bytes` None is unbounded."""
        return diff_text(changes, self._bench.root_fd, max_bytes=max_bytes)

    def history(self) -> tuple[Past, ...]:
        """The applied calls, oldest first."""
        self._bench.journal.load()
        standing = self._bench.journal.standing()
        return tuple(_past(step, standing) for step in standing if step.kind == "apply")

    def created(self) -> frozenset[str]:
        """The paths that were not there when this session first touched them."""
        first: dict[str, bool] = {}
        for step in self._bench.journal.standing():
            for number in sorted(step.done):
                first.setdefault(step.ops[number].path, step.ops[number].was is None)
        return frozenset(path for path, new in first.items() if new)

    def keep(self) -> None:
        """The person keeps the work: `cleanup` may remove the old bytes (D15)."""
        with self._bench.locked(), open(self._keep_mark, "w", encoding="ascii"):
            pass

    def cleanup(self) -> bool:
        """Remove the folder; only after a rollback without conflicts, or an explicit keep (D15)."""
        with self._bench.locked():
            standing = self._bench.journal.standing()
            left = any(live(step, standing) for step in standing if not step.ref)
            if left and not os.path.exists(self._keep_mark):
                return False
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        return True

    def recover(self) -> Undone:
        """Take back what a crash left half done, and say what that was."""
        with self._bench.locked() as settled:
            return settled


def _past(step: Step, standing: list[Step]) -> Past:
    paths = dict.fromkeys(step.ops[number].path for number in sorted(step.done))
    return Past(step.call_id, step.at_ns / 1e9, tuple(paths), cancelled(step, standing))
