"""Other names of what runs on the host: where the workspace's own links and configuration lead to.

A hook is often a link to a tracked script, `.envrc` one to a shared file, and `include.path` names a
file anywhere. Writing there is writing the hook. Looked at: the root's own entries, the hooks and the
configuration of the root's repository; not those of nested ones.
"""

from __future__ import annotations

import posixpath

from agent_security.changes.git_config import ConfigProblem, Parsed
from agent_security.changes.tree import Blocked, Tree
from agent_security.protected_paths import Tier, run_later

HOOKS, CONFIG = ".git/hooks", ".git/config"
_MOST_HOPS = 8
_MOST_NAMES = 10_000


def aliases(tree: Tree, workspace: str, *configs: bytes | None) -> dict[str, str]:
    """Path of the workspace -> the first-tier path that leads there. `configs` are the repository's own."""
    found: dict[str, str] = {}
    for name in _names(tree, ""):
        row = run_later(name)
        if name.startswith(".") or (row is not None and row.tier is Tier.FIRST):
            _follow(tree, workspace, name, name, found)
    _follow(tree, workspace, HOOKS, HOOKS, found)
    for key, folder, values in _named(configs):
        for value in values:
            place = _inside(folder, value, workspace)
            if place:
                found.setdefault(place, key)
                _follow(tree, workspace, place, key, found)
    for folder in [HOOKS, *(path for path, meant in found.items() if meant == HOOKS)]:
        for name in _names(tree, folder):
            _follow(tree, workspace, f"{folder}/{name}", f"{HOOKS}/{name}", found)
    return found


def _named(configs: tuple[bytes | None, ...]) -> list[tuple[str, str, list[str]]]:
    """(what it counts as, the folder it is relative to, the values) for keys that name a path."""
    found = []
    for config in configs:
        try:
            values = Parsed(config or b"").values()
        except ConfigProblem:
            continue
        for key, given in values.items():
            texts = [value for value in given if value]
            if key == "core.hookspath":
                found.append((HOOKS, "", texts))
            elif key == "include.path" or (key.startswith("includeif.") and key.endswith(".path")):
                found.append((CONFIG, ".git", texts))
            elif key == "core.attributesfile":
                found.append((".git/info/attributes", "", texts))
    return found


def _follow(tree: Tree, workspace: str, path: str, meant: str, found: dict[str, str]) -> None:
    """Note every name on the way of a link's chain, as far as it stays inside."""
    for _ in range(_MOST_HOPS):
        try:
            state = tree.state(path)
        except (Blocked, ValueError):
            return
        if state is None or state.target is None:
            return
        path = _inside(posixpath.dirname(path), state.target, workspace)
        if not path:
            return
        found.setdefault(path, meant)


def _inside(folder: str, target: str, workspace: str) -> str:
    """`target`, said in `folder`, as a path relative to the workspace; "" where it leads elsewhere."""
    if not posixpath.isabs(target):
        target = posixpath.join(workspace, folder, target)
    path = posixpath.relpath(posixpath.normpath(target), workspace)
    return "" if path.partition("/")[0] in (".", "..", "~") else path


def _names(tree: Tree, folder: str) -> list[str]:
    try:
        return tree.names(folder)[:_MOST_NAMES]
    except (OSError, Blocked, ValueError):
        return []
