"""One walk of the workspace at session start: which files are secret, which git configurations lie where.

By descriptors that follow no link. Installed packages are skipped (a CA bundle is no secret), and so
is git's own store, but for its configurations.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from agent_security.descriptors import lstat, parent_of
from agent_security.protected_paths import Tier, is_secret_file, run_later

SKIPPED = frozenset({"node_modules", "site-packages", "dist-packages", "__pycache__"})
MOST_ENTRIES = 2_000_000
_MOST_HOPS = 8
PLAIN = (
    *(".c", ".cc", ".cpp", ".cs", ".css", ".go", ".h", ".hpp", ".html", ".java", ".js", ".jsx", ".kt", ".md"),
    *(".php", ".png", ".py", ".pyc", ".rb", ".rs", ".rst", ".scala", ".svg", ".swift", ".ts", ".tsx", ".txt"),
)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_GIT_CONFIGS = ("config", "config.worktree")


@dataclass(slots=True)
class Survey:
    """What the walk found, as paths relative to the workspace."""

    secrets: list[str] = field(default_factory=list)
    git_configs: list[str] = field(default_factory=list)
    run_later: list[str] = field(default_factory=list)
    """First-tier run-later paths that exist; looked for only where asked."""
    cut_short: bool = False


def survey(
    workspace_fd: int, *, hidden: Callable[[str], bool] | None = None, want_run_later: bool = False
) -> Survey:
    """Walk once, and once more where a secret has several names. `hidden` names further files to mask."""
    found, links = Survey(), []
    for seen, (path, entry) in enumerate(_walk(workspace_fd)):
        if seen > MOST_ENTRIES:
            found.cut_short = True
            break
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.is_symlink():
            if not is_plain(path) and is_secret_file(path):
                links.append(path)
            continue
        if want_run_later and (row := run_later(path)) is not None and row.tier == Tier.FIRST:
            found.run_later.append(path)
        if is_folder:
            continue
        if _is_git_config(path):
            found.git_configs.append(path)
        elif (not is_plain(path) and is_secret_file(path)) or (hidden is not None and hidden(path)):
            found.secrets.append(path)
    found.secrets += [path for path in _led_to(workspace_fd, links) if path not in found.secrets]
    found.secrets += _other_names(workspace_fd, found.secrets)
    return found


def _led_to(workspace_fd: int, links: list[str]) -> list[str]:
    """The files of the workspace that links with a secret's name lead to: `.env -> settings/local`."""
    workspace = os.readlink(f"/proc/self/fd/{workspace_fd}")
    found = []
    for path in links:
        for _ in range(_MOST_HOPS):
            with suppress(OSError, ValueError):
                with parent_of(workspace_fd, path) as (fd, name):
                    target = os.readlink(name, dir_fd=fd)
                path = os.path.relpath(os.path.join(workspace, os.path.dirname(path), target), workspace)
                continue
            break
        with suppress(OSError, ValueError):
            seen = lstat(workspace_fd, path)
            if seen is not None and stat.S_ISREG(seen.st_mode):
                found.append(path)
    return list(dict.fromkeys(found))


def _other_names(workspace_fd: int, secrets: list[str]) -> list[str]:
    """Hard links to the same files: a second name shows the same bytes."""
    shared = set()
    for path in secrets:
        with suppress(OSError, ValueError):
            seen = lstat(workspace_fd, path)
            if seen is not None and seen.st_nlink > 1:
                shared.add(seen.st_ino)
    if not shared:
        return []
    named = (path for path, entry in _walk(workspace_fd) if entry.inode() in shared and entry.is_file())
    return [path for path in named if path not in secrets]


def is_plain(path: str) -> bool:
    """Whether a path is one of the many that no row of the secret table can match: it saves the table's cost.

    Plain source and prose, with no hidden part anywhere (`.ssh/x.txt`, `.env.py`), in ASCII.
    """
    return path.endswith(PLAIN) and "/." not in path and not path.startswith(".") and path.isascii()


def _is_git_config(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return name in _GIT_CONFIGS and ".git" in folder.lower().split("/")


def _walk(root: int) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """(path, entry) for every folder, regular file and link; folders that cannot be entered are passed by."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            fd = _open_beneath(root, folder)
        except OSError:
            continue
        try:
            with os.scandir(fd) as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if not (is_folder or entry.is_file(follow_symlinks=False) or entry.is_symlink()):
                        continue
                    yield path, entry
                    if is_folder and _enters(path, entry.name):
                        waiting.append(path)
        except OSError:
            continue
        finally:
            os.close(fd)


def _enters(path: str, name: str) -> bool:
    """Within git's store only what can hold a configuration: itself, its modules and its worktrees."""
    parts = path.lower().split("/")
    if ".git" in parts:
        below = parts[parts.index(".git") + 1 :]
        return not below or (below[0] in ("modules", "worktrees") and below[-1] not in _GIT_STORES)
    return name not in SKIPPED


_GIT_STORES = frozenset({"objects", "refs", "logs", "hooks", "info"})


def _open_beneath(root: int, path: str) -> int:
    fd = os.dup(root)
    for part in path.split("/") if path else ():
        try:
            fd, old = os.open(part, _FOLDER, dir_fd=fd), fd
        except OSError:
            os.close(fd)
            raise
        os.close(old)
    return fd
