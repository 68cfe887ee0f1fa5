"""Resolve and contain paths (§1.3, §2.3 layer 1).

    letters (`paths_text`) → where it really leads (`paths_walk`) → inside the scope? → may it be so?

A judgement is for now; steps 5 and 7 of the spine judge the opened file again, by descriptor.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from agent_security.changeset import Node
from agent_security.decision import Check
from agent_security.paths.text import judge_path_text, judge_pattern_text, literal_prefix, protected_spelling
from agent_security.paths.walk import DescriptorFacts, lies_within
from agent_security.ports import Facts, FileFact, Resolver
from agent_security.protected_paths import Tier, is_secret_file, run_later

__all__ = [
    "DescriptorFacts",
    "Scope",
    "confirm_path",
    "is_path_within",
    "judge_path",
    "judge_pattern",
    "judge_search",
    "lies_within",
    "relative_names",
    "second_tier",
]


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a session may read, write and connect.

    `working_dir` is absolute, its links followed. `added_dirs` are readable only. `home` "" is the
    person's home of the password database. `facts` None asks the file system through descriptors.
    `permitted_binaries` are lifted off the shell's denylist, and then asked about. `resolver` None
    means: judge names by their letters (the gates' way; names resolve in step 5 only).
    """

    working_dir: str
    home: str = ""
    added_dirs: tuple[str, ...] = ()
    facts: Facts | None = None
    permitted_binaries: frozenset[str] = frozenset()
    open_hosts: tuple[str, ...] = ()
    resolver: Resolver | None = None

    @property
    def home_dir(self) -> str:
        """The person's home: given, or of the password database; never of a variable."""
        return self.home or pwd.getpwuid(os.getuid()).pw_dir

    def look(self, path: str) -> FileFact:
        """What stands at `path`, absolute or relative to the workspace."""
        return (self.facts or _facts_of(self.working_dir, self.added_dirs)).look(path)

    @property
    def real_roots(self) -> tuple[str, ...]:
        """The workspace, then the added directories, their links followed."""
        return _facts_of(self.working_dir, self.added_dirs).roots


_protected = lru_cache(maxsize=4096)(run_later)
_is_secret = lru_cache(maxsize=4096)(is_secret_file)


@lru_cache(maxsize=64)
def _facts_of(working_dir: str, added_dirs: tuple[str, ...]) -> DescriptorFacts:
    """One reader for one scope: where the person's own roots lead is looked up once."""
    return DescriptorFacts((working_dir, *added_dirs))


def is_path_within(path: str, root: str) -> bool:
    """Whether `path`, relative to `root` or absolute, lands inside `root` with links and `..` followed."""
    if not path or not root:
        return False
    return DescriptorFacts((root,)).look(path).inside


def judge_path(path: str, scope: Scope, *, write: bool) -> Check:
    """Whether one path argument stays in scope: reads in the workspace and added directories, writes
    in the workspace alone. A hard refusal, no question: protected files are `confirm_path`'s.
    """
    check = judge_path_text(path)
    if not check.ok:
        return check
    fact = scope.look(path)
    if fact.problem in ("NUL", "no file name", "too long"):
        return Check(False, f"path_malformed: the path cannot be a file's name ({fact.problem})")
    if fact.problem:
        return Check(False, f"path_unresolved: the path cannot be followed: {fact.problem}")
    if not fact.inside:
        return Check(False, "path_outside: the path leads out of the workspace")
    if fact.node is Node.OTHER:
        return Check(False, "path_special: a device, socket or FIFO is not opened")
    return _judge_write(path, fact, scope) if write else Check(True)


def _judge_write(path: str, fact: FileFact, scope: Scope) -> Check:
    if not lies_within(fact.real, scope.real_roots[0]):
        return Check(False, "path_read_only: added directories are readable only")
    if fact.node is Node.DIRECTORY or path.endswith("/"):
        return Check(False, "path_special: a folder cannot be written as a file")
    if "\\" in path and not fact.exists:
        return Check(False, "path_windows: use / between folders")
    for name in relative_names(path, fact, scope):
        if spelled := protected_spelling(name):
            return Check(False, f"path_look_alike: {name!r} is another spelling of {spelled}")
        if _is_git_config(name):
            return Check(False, "git_config: use `git config` in a command; each key is then judged")
    return Check(True)


def _is_git_config(name: str) -> bool:
    """.git/config, config.worktree, and those of submodules, worktrees and nested repositories."""
    parts = name.lower().split("/")
    return ".git" in parts[:-1] and parts[-1] in ("config", "config.worktree")


def relative_names(path: str, fact: FileFact, scope: Scope) -> tuple[str, ...]:
    """A file's names relative to the root it lies in: as it was written, and where it really leads."""
    roots = scope.real_roots
    full = path if path.startswith("/") else f"{scope.working_dir}/{path}"
    names = {os.path.normpath(full): scope.working_dir, fact.real: ""}
    found = []
    for name, extra in names.items():
        for root in (extra, *roots):
            if root and name != root and lies_within(name, root):
                found.append(name[len(root.rstrip("/")) + 1 :])
                break
    return tuple(dict.fromkeys(found))


def confirm_path(path: str, scope: Scope, *, write: bool) -> Check:
    """ok=True: a person must say yes to this path, though it is in scope (secret file, first tier, D11).

    A secret file that does not exist yet holds no secret: creating one is an ordinary write.
    """
    fact = scope.look(path)
    names = relative_names(path, fact, scope)
    if (not write or fact.exists) and any(_is_secret(name) for name in names):
        return Check(True, f"secret_file: {names[-1]} holds secrets")
    for name in names if write else ():
        protected = _protected(name)
        if protected is not None and protected.tier is Tier.FIRST:
            return Check(True, f"first_tier: {name}: {protected.why}")
    return Check(False)


def second_tier(path: str, scope: Scope, *, seen: Collection[str] = ()) -> Check:
    """ok=True: a write here runs when somebody builds, tests or pushes (D11): the permission gate asks.

    Once a file a session: what stands in `seen` is not asked about again.
    """
    for name in relative_names(path, scope.look(path), scope):
        protected = _protected(name)
        if protected is not None and protected.tier is Tier.SECOND and name not in seen:
            return Check(True, f"second_tier: {name}: {protected.why}")
    return Check(False)


def judge_pattern(pattern: str, base: str, scope: Scope) -> Check:
    """Whether a glob pattern, searched from `base`, stays in scope; its plain folders are followed."""
    check = judge_pattern_text(pattern)
    if not check.ok:
        return check
    return judge_path(
        f"{base.rstrip('/') or '/'}/{literal_prefix(pattern)}" if base else literal_prefix(pattern),
        scope,
        write=False,
    )


def judge_search(glob: str) -> Check:
    """ok=True: a person must say yes: the file filter of a search picks out secret files."""
    if isinstance(glob, str) and is_secret_file(glob.rpartition("/")[2]):
        return Check(True, f"secret_file: the filter {glob!r} picks out files that hold secrets")
    return Check(False)
