"""Trees as plain dicts, written, read back, and turned into the upper directory of a view.

A tree is {path: ("file", bytes, mode) | ("link", target) | ("folder", mode)}.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

Spec = dict[str, tuple[Any, ...]]


def write_tree(root: Path, spec: Spec) -> None:
    root.mkdir(parents=True, exist_ok=True)
    for path, node in sorted(spec.items()):
        place(root, path, node)
    for path, node in sorted(spec.items(), reverse=True):
        if node[0] == "folder":
            os.chmod(root / path, node[1])


def place(root: Path, path: str, node: tuple[Any, ...]) -> None:
    where = root / path
    where.parent.mkdir(parents=True, exist_ok=True)
    if node[0] == "folder":
        where.mkdir(exist_ok=True)
    elif node[0] == "link":
        where.symlink_to(node[1])
    else:
        where.write_bytes(node[1])
        where.chmod(node[2])


def read_tree(root: Path) -> Spec:
    spec: Spec = {}
    for folder, folders, files in os.walk(root):
        for name in [*folders, *files]:
            where = os.path.join(folder, name)
            seen = os.lstat(where)
            path = os.path.relpath(where, root)
            if stat.S_ISLNK(seen.st_mode):
                spec[path] = ("link", os.readlink(where))
            elif stat.S_ISDIR(seen.st_mode):
                spec[path] = ("folder", stat.S_IMODE(seen.st_mode))
            else:
                spec[path] = ("file", Path(where).read_bytes(), stat.S_IMODE(seen.st_mode))
    return spec


def whiteout(where: Path) -> None:
    """A character device 0/0, which the kernel lets anybody make."""
    where.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.mknod(where, stat.S_IFCHR, 0)
    except PermissionError:
        pytest.skip("this kernel lets an ordinary user make no whiteout")


def make_opaque(where: Path) -> None:
    os.setxattr(where, "user.overlay.opaque", b"y")


def make_upper(
    upper: Path, lower: Spec, wanted: Spec, *, opaque: bool = False, copied_up: bool = False
) -> None:
    """The upper directory by which `lower` becomes `wanted`, as the kernel would leave it.

    `opaque`: folders that stay are replaced by opaque ones that hold everything. `copied_up`:
    unchanged files are there too.
    """
    upper.mkdir(parents=True, exist_ok=True)
    for path, node in sorted(wanted.items()):
        hidden = _below_replaced(path, lower, wanted)
        same = lower.get(path) == node and not hidden
        folder_above = any(path.startswith(f"{other}/") for other in wanted if wanted[other][0] == "folder")
        if same and not copied_up and not (opaque and (node[0] == "folder" or folder_above)):
            continue
        place(upper, path, node)
        if node[0] == "folder" and opaque and lower.get(path, ("",))[0] == "folder" and not hidden:
            make_opaque(upper / path)
    for path in sorted(lower):
        if path not in wanted and not _inside_gone(path, lower, wanted):
            parent = os.path.dirname(path)
            if not (opaque and parent):
                whiteout(upper / path)
    for path, node in sorted(wanted.items(), reverse=True):
        if node[0] == "folder" and (upper / path).is_dir():
            os.chmod(upper / path, node[1])
    for path, node in sorted(lower.items(), reverse=True):
        if node[0] == "folder" and path in wanted and wanted[path][0] == "folder" and (upper / path).is_dir():
            os.chmod(upper / path, wanted[path][1])


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _below_replaced(path: str, lower: Spec, wanted: Spec) -> bool:
    return any(lower.get(parent, ("folder",))[0] != "folder" for parent in _parents(path))


def _inside_gone(path: str, lower: Spec, wanted: Spec) -> bool:
    """Whether a folder above is gone or replaced, which takes this path along."""
    return any(wanted.get(parent, ("",))[0] != "folder" for parent in _parents(path))


def remove_tree(root: Path) -> None:
    """Remove a tree whose folders may be closed."""
    for folder, folders, _ in os.walk(root):
        for name in folders:
            where = os.path.join(folder, name)
            if not os.path.islink(where):
                os.chmod(where, 0o700)
    shutil.rmtree(root, ignore_errors=True)
