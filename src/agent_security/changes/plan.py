"""From a change set to operations: what is held, what is a conflict, and in which order the rest goes.

Looks at the workspace and changes nothing. Order of a plan: deletions below a folder that a file
replaces; new folders; files, git's objects first and its index last, so that a reader never sees
a reference without its object; the other deletions, children first; modes of folders.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from agent_security.changes.journal import Op
from agent_security.changes.tree import Blocked, State, Tree
from agent_security.changeset import Change, ChangeKind, ChangeSet, Node

Own = Mapping[str, tuple[int, ...]]
"""Path -> State.ident of what we ourselves last put there."""

TOGETHER = "it goes together with another file of this repository that is a conflict"
_CREATED, _CHANGED, _DELETED = ChangeKind.CREATED, ChangeKind.CHANGED, ChangeKind.DELETED


@dataclass(slots=True)
class Plan:
    """`staged[n]` is the change whose new bytes operation n needs in its slot."""

    ops: list[Op] = field(default_factory=list)
    staged: dict[int, Change] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    conflicts: dict[str, str] = field(default_factory=dict)


def above(path: str) -> Iterator[str]:
    """The folders a path lies in, nearest first."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def spread(changes: Collection[Change], marks: Mapping[str, str]) -> dict[str, str]:
    """The marked paths with all that depends on them.

    What lies in a folder that does not come to be; a folder that cannot go because something in
    it stays; a new folder that nothing would be put into.
    """
    kinds = {change.path: change for change in changes}
    marked = {path: why for path, why in marks.items() if path in kinds}
    if not marked:
        return marked
    for path in sorted(kinds):
        for folder in above(path):
            if folder in marked and kinds[folder].kind in (_CREATED, _CHANGED):
                marked.setdefault(path, marked[folder])
    for path in [path for path in marked if kinds[path].kind is _DELETED]:
        for folder in above(path):
            goes = folder in kinds and (
                kinds[folder].kind is _DELETED
                or (kinds[folder].kind is _CHANGED and kinds[folder].node is not Node.DIRECTORY)
            )
            if goes:
                marked.setdefault(folder, marked[path])
    return marked | _emptied(kinds, marked)


def _emptied(kinds: Mapping[str, Change], marked: dict[str, str]) -> dict[str, str]:
    busy: set[str] = set()
    idle: dict[str, str] = {}
    more: dict[str, str] = {}
    for path in sorted(kinds, reverse=True):  # children first
        new_folder = kinds[path].kind is _CREATED and kinds[path].node is Node.DIRECTORY
        if new_folder and path in idle and path not in busy:
            more[path] = idle[path]
        folder = path.rpartition("/")[0]
        if path in marked or path in more:
            idle.setdefault(folder, marked.get(path) or more[path])
        else:
            busy.add(folder)
    return more


class Planner:
    """Makes one plan. `step` is the number of the journal it will stand in."""

    def __init__(self, tree: Tree, own: Own, step: int, *, default_modes: tuple[int, int]) -> None:
        self._tree, self._own, self._step = tree, own, step
        self._file_mode, self._folder_mode = default_modes
        self._later: dict[str, State | None] = {}
        self._folders: set[str] = {""}
        self.plan = Plan()

    def make(self, changes: ChangeSet, hold: Mapping[str, str]) -> Plan:
        plan = self.plan
        plan.held = spread(changes.changes, hold)
        wanted = [change for change in changes.changes if change.path not in plan.held]
        seen = self._look_at(wanted, changes.since_ns)
        plan.conflicts = spread(wanted, plan.conflicts | _git_together(wanted, plan.conflicts))
        for change in _ordered(wanted, seen):
            if change.path in seen and change.path not in plan.conflicts:
                self._operations(change, seen[change.path])
        return plan

    # --- looking ------------------------------------------------------------------------------

    def _look_at(self, wanted: list[Change], since_ns: int) -> dict[str, State | None]:
        """What stands at each path now; notes the conflicts, leaves out what has nothing left to do."""
        seen: dict[str, State | None] = {}
        becoming = {c.path for c in wanted if c.node is Node.DIRECTORY and c.kind in (_CREATED, _CHANGED)}
        for change in wanted:
            try:
                was = self._tree.state(change.path, digest=change.before is not None)
            except Blocked as error:
                if not any(folder in becoming for folder in above(change.path)):
                    self.plan.conflicts[change.path] = f"a folder above it was replaced: {error}"
                    continue
                was = None
            except ValueError as error:
                self.plan.conflicts[change.path] = str(error)
                continue
            if _nothing_to_do(change, was):
                continue
            if why := conflict_of(change, was, since_ns, self._own.get(change.path)):
                self.plan.conflicts[change.path] = why
            seen[change.path] = was
        return seen

    # --- operations ---------------------------------------------------------------------------

    def _operations(self, change: Change, was: State | None) -> None:
        plan = self.plan
        try:
            self._parents(change.path)
        except Blocked as error:
            plan.conflicts[change.path] = f"a folder above it was replaced: {error}"
            return
        now = self._state_after(change, was)
        if was is not None and now is not None and was.is_folder != now.is_folder:
            self._add(change, was, None)
            was = None
        self._add(change, was, now)
        plan.changed[change.path] = str(change.kind)

    def _add(self, change: Change, was: State | None, now: State | None) -> None:
        number = len(self.plan.ops)
        moves = change.kind is not ChangeKind.MODE and not any(
            s is not None and s.is_folder for s in (was, now)
        )
        slot = f"{self._step:06}/{number}" if moves else ""
        self.plan.ops.append(Op(change.path, was, now, slot))
        self._later[change.path] = now
        if moves and now is not None:
            self.plan.staged[number] = change
        if now is not None and now.is_folder:
            self._folders.add(change.path)
            if was is None and now.mode & 0o700 != 0o700:
                # it has to take its content first
                self.plan.ops[-1] = replace(self.plan.ops[-1], now=replace(now, mode=now.mode | 0o700))
                self.plan.ops.append(Op(change.path, replace(now, mode=now.mode | 0o700), now, ""))

    def _parents(self, path: str) -> None:
        """Plan the folders above `path` that are missing."""
        missing = []
        for folder in above(path):
            if folder in self._folders:
                break
            state = self._later[folder] if folder in self._later else self._tree.state(folder)
            if state is not None and not state.is_folder:
                raise Blocked(f"{folder} is no folder")
            if state is not None:
                self._folders.add(folder)
                break
            missing.append(folder)
        for folder in reversed(missing):
            self._add(
                Change(folder, _CREATED, Node.DIRECTORY), None, State(Node.DIRECTORY, self._folder_mode)
            )

    def _state_after(self, change: Change, was: State | None) -> State | None:
        if change.kind is _DELETED:
            return None
        if change.node is Node.LINK:
            return State(Node.LINK, target=change.target or "")
        if change.kind is ChangeKind.MODE and was is not None:
            return replace(was, mode=_kept_bits(change, was.mode), ident=())
        if change.node is Node.DIRECTORY:
            return State(Node.DIRECTORY, _kept_bits(change, self._folder_mode))
        mode = was.mode if was is not None and was.node is Node.FILE else self._file_mode
        return State(Node.FILE, _kept_bits(change, mode), change.size_bytes, None, change.after)


def _kept_bits(change: Change, default: int) -> int:
    """The mode afterwards; set-id bits of files never come through, whatever was decided."""
    mode = default if change.mode is None else change.mode
    return mode & (0o7777 if change.node is Node.DIRECTORY else 0o777)


def _nothing_to_do(change: Change, was: State | None) -> bool:
    if was is None:
        return change.kind is _DELETED
    return change.kind is _CREATED and change.node is Node.DIRECTORY and was.is_folder


def conflict_of(change: Change, was: State | None, since_ns: int, own: tuple[int, ...] | None) -> str:
    """Why a change must not be made over what stands there now, or ""."""
    if change.node is Node.OTHER:
        return "a device, socket or pipe is never put into the workspace"
    if was is None:
        return "" if change.kind is _CREATED else "it was removed meanwhile"
    if change.kind is _CREATED:
        return "something else stands there now"
    expected = change.node if change.kind is not _CHANGED else Node.FILE if change.before else was.node
    if was.node is not expected or was.node is Node.OTHER:
        return "it is of another type now"
    if was.is_folder:
        return ""
    if since_ns and was.ident[2] > since_ns and was.ident != own:
        return "it was changed while the command ran"
    if change.kind is _DELETED and change.size_bytes and was.size != change.size_bytes:
        return "its content was changed"
    return "its content was changed" if change.before and was.digest not in (None, change.before) else ""


# --- order ----------------------------------------------------------------------------------------


def _ordered(changes: list[Change], seen: Mapping[str, State | None]) -> list[Change]:
    kinds = {change.path: change for change in changes}

    def replaced_above(path: str) -> bool:
        return any(
            folder in kinds and kinds[folder].kind is _CHANGED and kinds[folder].node is not Node.DIRECTORY
            for folder in above(path)
        )

    gone = sorted((c for c in changes if c.kind is _DELETED), key=lambda c: c.path, reverse=True)
    modes = [c for c in changes if _is_folder_mode(c)]
    put = [c for c in changes if c.kind is not _DELETED and not _is_folder_mode(c)]
    early = {c.path for c in gone if replaced_above(c.path)}
    return [
        *(c for c in gone if c.path in early),
        *sorted(put, key=lambda c: (-1 if c.node is Node.DIRECTORY else git_rank(c.path), c.path)),
        *(c for c in gone if c.path not in early),
        *sorted(modes, key=lambda c: c.path, reverse=True),
    ]


def _is_folder_mode(change: Change) -> bool:
    return change.kind is ChangeKind.MODE and change.node is Node.DIRECTORY


def git_rank(path: str) -> int:
    """Objects before everything, then the work tree, then references, HEAD and the index."""
    _, found, inside = f"/{path}".rpartition("/.git/")
    if not found:
        return 1
    inside = inside.partition("/")[2] if inside.startswith("modules/") else inside
    first = inside.partition("/")[0]
    ranks = {"objects": 0, "refs": 3, "packed-refs": 3, "HEAD": 4, "index": 5}
    return ranks.get(first, 2)


_GIT_ASIDE = ("objects", "hooks", "info", "config", "config.worktree", "description", "lfs", "remotes")


def _git_together(changes: list[Change], conflicts: Mapping[str, str]) -> dict[str, str]:
    """References, HEAD and index of one repository go together or not at all."""
    torn = {repository for path in conflicts if (repository := repository_of(path))}
    return {
        change.path: TOGETHER
        for change in changes
        if torn and change.path not in conflicts and repository_of(change.path) in torn
    }


def repository_of(path: str) -> str:
    """The git folder whose references, HEAD and index `path` belongs to, or ""."""
    head, found, inside = f"/{path}".partition("/.git/")
    return f"{head}/.git" if found and inside.partition("/")[0] not in _GIT_ASIDE else ""
