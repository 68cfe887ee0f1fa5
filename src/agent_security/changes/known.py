"""What git already holds of a change set: content that comes back, and content that would be lost.

Believed by place: a file counts as known only where its bytes stood at its own path in a tree of the refs
at session start. A script of the repository copied to `.git/hooks` is not known there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from agent_security.changes.inert import Before
from agent_security.changeset import Change, ChangeKind, ChangeSet, Node
from agent_security.ports import Repository
from agent_security.protected_paths import run_later

MOST_ASKED = 64
"""Paths of one change set that git is asked about; the others count as not known."""

_IGNORE_FILES = (".gitignore", ".git/info/exclude", ".git/config")


class GitMemory:
    """Asks the repository at most twice a change set, and only once something depends on it."""

    def __init__(
        self,
        changes: ChangeSet,
        workspace_fd: int,
        repository: Repository,
        *,
        made_here: Callable[[], frozenset[str]] = frozenset,
        changed_here: Collection[str] = (),
    ) -> None:
        self._changes, self._repository = changes.changes, repository
        self._before = Before(workspace_fd, changes)
        self._made_here, self._changed_here = made_here, changed_here
        self._known: frozenset[str] | None = None

    def known(self, change: Change) -> bool:
        """Whether the file's new bytes stood at this very path when the session began."""
        if self._known is None:
            candidates = [c for c in self._changes if _may_be_known(c)][:MOST_ASKED]
            self._known = self._held({c.path: self._before.new(c) for c in candidates})
        return change.path in self._known and _may_be_known(change)

    def lost(self, paths: Collection[str]) -> frozenset[str]:
        """Those of the deleted `paths` that held something of the person which git cannot give back.

        Not what this session made, and not what the ignore files name, unless the session wrote those.
        """
        mine = sorted(set(paths) - self._made_here())
        bytes_of = {path: self._before.old(path) for path in mine}
        held = self._held({path: bytes_of[path] for path in mine[:MOST_ASKED]})
        left = [path for path in mine if path not in held and bytes_of[path] != b""]
        return frozenset(left) - (self._repository.ignored(left) if left and self._ignores_stand() else set())

    def _held(self, files: dict[str, bytes | None]) -> frozenset[str]:
        wanted = {path: self._repository.blob_id(data) for path, data in files.items() if data}
        return self._repository.holds(wanted) if wanted else frozenset()

    def _ignores_stand(self) -> bool:
        touched = {*self._changed_here, *(change.path for change in self._changes)}
        return not any(f"/{path}".endswith(f"/{name}") for path in touched for name in _IGNORE_FILES)


def _may_be_known(change: Change) -> bool:
    return (
        change.node is Node.FILE
        and change.kind in (ChangeKind.CREATED, ChangeKind.CHANGED)
        and "/.git/" not in f"/{change.path}"
        and run_later(change.path) is not None
    )
