"""Plan the way back: a step's standing operations, inverted, against what stands there now.

What the person changed since is a conflict: left alone and named, unless they said to put it
back all the same; then their version goes into the slot and can be brought back too.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from agent_security.changes.engine import same
from agent_security.changes.journal import SNAPSHOT, Op, Step, settled
from agent_security.changes.plan import TOGETHER, Own, above, repository_of
from agent_security.changes.tree import Blocked, State, Tree


@dataclass(slots=True)
class WayBack:
    """`restored` is path -> "restored", "removed" or "mode"."""

    ops: list[Op] = field(default_factory=list)
    restored: dict[str, str] = field(default_factory=dict)
    conflicts: dict[str, str] = field(default_factory=dict)


class WayBackPlanner:
    """Plans one undo. `force` names the paths to put back although the person changed them."""

    def __init__(self, tree: Tree, own: Own, force: Collection[str] = ()) -> None:
        self._tree, self._own, self._force = tree, own, force
        self._later: dict[str, State | None] = {}
        self.way = WayBack()

    def make(self, step: Step, numbers: Collection[int]) -> WayBack:
        self._plan_all(step, numbers)
        torn = {repository_of(path) for path in self.way.conflicts} - {""}
        if torn:  # references, HEAD and index of a repository go back together or not at all
            together = {n for n in numbers if repository_of(step.ops[n].path) in torn}
            conflicts = self.way.conflicts
            self._later, self.way = {}, WayBack()
            self._plan_all(step, [number for number in numbers if number not in together])
            paths = [step.ops[number].path for number in together]
            self.way.conflicts |= {path: conflicts.get(path, TOGETHER) for path in paths}
        return self.way

    def _plan_all(self, step: Step, numbers: Collection[int]) -> None:
        for number in sorted(numbers, reverse=True):
            self._plan(settled(step.ops[number], step.done[number]), number, step.kind == SNAPSHOT)

    def _plan(self, op: Op, number: int, unconditional: bool) -> None:
        way, back = self.way, op.inverse(number)
        if op.path in way.conflicts:
            return
        try:
            found = self._look(op.path)
        except Blocked as error:
            way.conflicts[op.path] = f"a folder above it was replaced: {error}"
            return
        if unconditional and same(op.was, found, lambda: self._tree.digest(op.path), op.compares):
            return
        if not self._same(op.now, found, op):
            why = "it was changed since" if found else "it was removed since"
            if not (unconditional or op.path in self._force) or not _can_force(back, found):
                way.conflicts[op.path] = why if op.now else "something else stands there since"
                return
        if found is None and op.path not in self._later and not self._has_folder(op.path):
            way.conflicts[op.path] = "its folder was removed since"
            return
        way.ops.append(back if op.compares == "kind" else replace(back, was=found))
        way.restored[op.path] = (
            "removed" if op.was is None else "mode" if op.compares == "mode" else "restored"
        )
        if op.compares != "mode":
            self._later[op.path] = op.was

    def _same(self, expected: State | None, found: State | None, op: Op) -> bool:
        ours = found is not None and found.ident == self._own.get(op.path)
        if (
            ours
            and op.compares == "content"
            and expected is not None
            and found
            and expected.node is found.node
        ):
            return True  # what we ourselves left there last, untouched since: no need to read it
        return same(expected, found, lambda: self._tree.digest(op.path), op.compares)

    def _look(self, path: str) -> State | None:
        """What will stand there when the operations planned so far are done. Raises Blocked."""
        if path in self._later:
            return self._later[path]
        for folder in above(path):
            if folder in self._later:
                return None  # a folder that comes back is empty, one that goes held nothing
        return self._tree.state(path)

    def _has_folder(self, path: str) -> bool:
        folder = path.rpartition("/")[0]
        if not folder:
            return True
        state = self._later[folder] if folder in self._later else self._tree.state(folder)
        return state is not None and state.is_folder


def _can_force(back: Op, found: State | None) -> bool:
    """A file or link may be put over a file, a link or nothing; a folder is never put aside."""
    return bool(back.slot) and (found is None or not found.is_folder)
