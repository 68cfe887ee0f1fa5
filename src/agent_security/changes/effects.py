"""Judge a change set by its effect: what a person must say yes to, and what is refused (D11, D24).

Looks at the change set and at the workspace it would change; changes nothing. Every finding
names one path; a path may have several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent_security.changes.aliases import aliases
from agent_security.changes.inert import Before, is_inert
from agent_security.changes.links import leads_out
from agent_security.changes.plan import above
from agent_security.changes.tree import Blocked, State, Tree
from agent_security.changeset import Change, ChangeKind, ChangeSet, Node
from agent_security.codes import CODES, Kind
from agent_security.decision import Verdict
from agent_security.protected_paths import Tier, is_secret_file, run_later

SYSTEM_LINKS = ("/usr/bin", "/usr/local/bin", "/usr/lib", "/usr/share")
"""Where an absolute link may point: system programs, as in every virtual environment. Nothing of a person."""


@dataclass(frozen=True, slots=True)
class EffectLimits:
    """Bounds of one change set. More `deletions` than this are asked about, as are more
    `untracked_deletions`: files whose content git does not hold."""

    deletions: int = 20
    untracked_deletions: int = 0
    max_changes: int = 100_000
    max_bytes: int = 4 * 1024**3
    max_file_bytes: int = 1024**3
    link_roots: tuple[str, ...] = SYSTEM_LINKS


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that stands against one path: ASK or DENY, with a row of codes.py."""

    path: str
    verdict: Verdict
    code: str
    reason: str
    runs_later: bool = False


def judge_change_set(
    changes: ChangeSet,
    *,
    workspace_fd: int,
    limits: EffectLimits | None = None,
    known: Callable[[Change], bool] | None = None,
    lost: Callable[[frozenset[str]], frozenset[str]] | None = None,
) -> tuple[Finding, ...]:
    """Every finding of a change set, in the order of its paths; none means: nothing to ask.

    `known` may vouch for a run-later file's content (git held it there at session start); `lost` says
    which deleted files held what git cannot give back. A second-tier file is found each time: once a
    file a session is the caller's business.
    """
    limits = limits or EffectLimits()
    if too_large := tuple(_too_large(changes, limits)):
        return too_large
    with Tree(workspace_fd) as tree:
        judge = _Judge(changes, tree, workspace_fd, limits, known or (lambda _: False))
        if lost is not None:
            judge.look_for_lost(lost)
        return tuple(finding for change in changes.changes for finding in judge.findings(change))


def _too_large(changes: ChangeSet, limits: EffectLimits) -> Iterator[Finding]:
    """The whole set is refused where its sums are past their bounds: there is no fair half of it."""
    size = sum(change.size_bytes for change in changes.changes if change.kind is not ChangeKind.DELETED)
    if len(changes) <= limits.max_changes and size <= limits.max_bytes:
        return
    why = f"{len(changes)} changes of {size} bytes; at most {limits.max_changes} of {limits.max_bytes} bytes"
    for change in changes.changes:
        yield Finding(change.path, Verdict.DENY, "too_large", why)


class _Judge:
    def __init__(
        self,
        changes: ChangeSet,
        tree: Tree,
        workspace_fd: int,
        limits: EffectLimits,
        known: Callable[[Change], bool],
    ) -> None:
        self._tree, self._limits, self._known = tree, limits, known
        self._kinds = {change.path: change for change in changes.changes}
        self._folders = {
            f for c in changes.changes if c.kind is not ChangeKind.DELETED for f in above(c.path)
        }
        self._before = Before(workspace_fd, changes)
        configs = (self._before.old(path) for path in (".git/config", ".git/config.worktree"))
        self._aliases = aliases(tree, self._before.workspace, *configs)
        self._gone = _deletions(changes)
        self._many = len(self._gone) > limits.deletions
        self._lost = _lost_repositories(changes)
        self._untracked: frozenset[str] = frozenset()
        self._bare = self._bare_repositories()

    def look_for_lost(self, lost: Callable[[frozenset[str]], frozenset[str]]) -> None:
        """Where many files go, that is the question already."""
        if self._gone and not self._many and not self._lost:
            found = lost(self._gone)
            self._untracked = found if len(found) > self._limits.untracked_deletions else frozenset()

    def findings(self, change: Change) -> Iterator[Finding]:
        yield from self._refusals(change)
        if change.kind is ChangeKind.DELETED:
            yield from self._deletion(change)
        elif change.node in (Node.FILE, Node.LINK) and is_secret_file(change.path):
            yield _finding(change.path, "secret_file", "it holds, by its name, credentials")
        if change.node is not Node.DIRECTORY:
            yield from self._runs_later(change)
            yield from self._made_executable(change)

    # --- refused in every mode ----------------------------------------------------------------

    def _refusals(self, change: Change) -> Iterator[Finding]:
        if change.kind is ChangeKind.DELETED:
            return
        if change.node is Node.OTHER:
            yield _finding(change.path, "special_file", "a device, socket or pipe")
        if change.node is Node.FILE and (change.mode or 0) & 0o6000:
            yield _finding(change.path, "set_id", "a set-user-id or set-group-id bit")
        if change.node is Node.FILE and change.size_bytes > self._limits.max_file_bytes:
            yield _finding(change.path, "too_large", f"{change.size_bytes} bytes")
        if change.node is Node.LINK:
            roots, workspace = self._limits.link_roots, self._before.workspace
            why = leads_out(change.path, change.target or "", self._link_at, roots, workspace)
            if why:
                yield _finding(change.path, "link_out", why)

    def _link_at(self, path: str) -> str | None:
        """Where the link at `path` will point, None where no link will stand there."""
        if path in self._kinds:
            change = self._kinds[path]
            gone = change.kind is ChangeKind.DELETED
            return change.target if change.node is Node.LINK and not gone else None
        if any(folder in self._kinds and self._kinds[folder].node is Node.LINK for folder in above(path)):
            return None
        state = self._state(path)
        return state.target if state is not None and state.node is Node.LINK else None

    def _state(self, path: str) -> State | None:
        try:
            return self._tree.state(path)
        except (Blocked, ValueError):
            return None

    # --- asked about --------------------------------------------------------------------------

    def _deletion(self, change: Change) -> Iterator[Finding]:
        lost = next((repo for repo in self._lost if f"{change.path}/".startswith(f"{repo}/")), None)
        if lost is not None:
            yield _finding(
                change.path, "many_deletions", f"the repository {lost} goes with its whole history"
            )
        elif self._many and (change.path in self._gone or change.node is Node.DIRECTORY):
            yield _finding(change.path, "many_deletions", f"{len(self._gone)} files are deleted at once")
        elif change.path in self._untracked:
            yield _finding(change.path, "deletes_untracked", "it goes, and git does not hold its content")

    def _runs_later(self, change: Change) -> Iterator[Finding]:
        for path in dict.fromkeys((self._as_repository(change.path), self._as_alias(change.path))):
            row = run_later(path)
            if row is None or self._known(change) or is_inert(change, path, self._before):
                continue
            if row.tier is Tier.FIRST:
                yield _finding(change.path, "first_tier", row.why, runs_later=True)
            elif change.kind is not ChangeKind.DELETED:
                yield _finding(change.path, "second_tier", row.why, runs_later=True)
            return

    def _made_executable(self, change: Change) -> Iterator[Finding]:
        if change.kind not in (ChangeKind.MODE, ChangeKind.CHANGED) or change.node is not Node.FILE:
            return
        if not (change.mode or 0) & 0o111:
            return
        old = self._state(change.path)
        if old is not None and old.node is Node.FILE and not old.mode & 0o111:
            yield _finding(change.path, "made_executable", "an existing file becomes a program")

    # --- repositories under other names -------------------------------------------------------

    def _bare_repositories(self) -> frozenset[str]:
        """Folders that git would take for a repository afterwards although they are not called `.git`.

        A person who enters such a folder runs its configuration's commands.
        """
        folders = {
            folder
            for change in self._kinds.values()
            if not change.path.startswith(".git/") and "/.git/" not in change.path
            for folder in above(change.path)
            if change.path[len(folder) + 1 :].partition("/")[0]
            in ("HEAD", "config", "hooks", "objects", "refs")
        }
        return frozenset(
            folder for folder in folders if all(self._will_be(f"{folder}/{n}") for n in _REPOSITORY)
        )

    def _will_be(self, path: str) -> bool:
        change = self._kinds.get(path)
        if change is not None:
            return change.kind is not ChangeKind.DELETED
        return path in self._folders or self._state(path) is not None

    def _as_repository(self, path: str) -> str:
        """The path with a repository's folder called `.git`, so that the tables know it."""
        for folder in above(path):
            if folder in self._bare:
                return f"{folder}/.git/{path[len(folder) + 1 :]}"
        return path

    def _as_alias(self, path: str) -> str:
        """The path that a link or the configuration makes of this one."""
        place = next((one for one in (path, *above(path)) if one in self._aliases), None)
        return path if place is None else self._aliases[place] + path[len(place) :]


_REPOSITORY = ("HEAD", "objects", "refs")


def _finding(path: str, code: str, why: str, *, runs_later: bool = False) -> Finding:
    verdict = Verdict.DENY if CODES[code].kind is Kind.NONE else Verdict.ASK
    return Finding(path, verdict, code, f"{path}: {why}", runs_later)


def _deletions(changes: ChangeSet) -> frozenset[str]:
    """Deleted files and links, without git's own housekeeping."""
    gone = (c.path for c in changes.changes if c.kind is ChangeKind.DELETED and c.node is not Node.DIRECTORY)
    return frozenset(path for path in gone if "/.git/" not in f"/{path}")


def _lost_repositories(changes: ChangeSet) -> list[str]:
    """Repositories whose HEAD goes: their history goes with them."""
    gone = [change.path for change in changes.changes if change.kind is ChangeKind.DELETED]
    repositories = Counter(path.removesuffix("/HEAD") for path in gone if f"/{path}".endswith("/.git/HEAD"))
    return sorted(repositories)
