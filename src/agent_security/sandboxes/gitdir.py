"""A workspace whose `.git` is a file: a linked worktree or a submodule (DESIGN §3.5).

The file is the workspace's own data, so it leads to a mount only where the folder it names points
back at this workspace. That folder is shown read-only: `git log` and `git diff` work, a commit does not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from agent_security.changes import mask_config
from agent_security.descriptors import read_regular
from agent_security.sandboxes.request import is_beneath

_SMALL = 4096
_MOST_CONFIG_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class GitDir:
    """`common` is the folder to show; `configs` pairs (path, cleaned bytes) that stand over its own."""

    common: str
    configs: tuple[tuple[str, bytes], ...] = ()


def find_gitdir(workspace: str, workspace_fd: int) -> GitDir | None:
    """The common git folder of a linked worktree that points back here; None for anything else."""
    try:
        text = read_regular(workspace_fd, ".git", _SMALL).decode("utf-8")
    except (OSError, ValueError):
        return None
    if not text.startswith("gitdir: ") or "\0" in text:
        return None
    named = os.path.realpath(os.path.join(workspace, text.removeprefix("gitdir: ").strip()))
    common = _common(named) if _points_back(named, workspace) else ""
    if not common or is_beneath(common, workspace):
        return None
    return GitDir(common, tuple(_cleaned_configs(common, named)))


def _cleaned_configs(common: str, gitdir: str) -> Iterator[tuple[str, bytes]]:
    for path in (os.path.join(common, "config"), os.path.join(gitdir, "config.worktree")):
        try:
            with open(path, "rb") as file:
                raw = file.read(_MOST_CONFIG_BYTES)
        except OSError:
            continue
        yield path, mask_config(raw)


def _points_back(gitdir: str, workspace: str) -> bool:
    """A worktree's folder holds `gitdir`, the path of our `.git` file, written by git on the host."""
    try:
        with open(os.path.join(gitdir, "gitdir"), encoding="utf-8") as file:
            back = file.read(_SMALL).strip()
    except (OSError, ValueError):
        return False
    return os.path.realpath(back) == os.path.join(workspace, ".git")


def _common(gitdir: str) -> str:
    """`<common>/worktrees/<name>` belongs to `<common>`, which must look like git's own folder."""
    worktrees = os.path.dirname(gitdir)
    common = os.path.dirname(worktrees)
    looks = os.path.basename(worktrees) == "worktrees" and os.path.isdir(os.path.join(common, "objects"))
    return common if looks else ""
