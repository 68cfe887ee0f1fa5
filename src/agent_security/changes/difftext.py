"""A change set as text: a patch that git applies where it is text, one line for what is not."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator

from agent_security.changes.tree import Blocked
from agent_security.changeset import Change, ChangeKind, ChangeSet, Node
from agent_security.descriptors import lstat, parent_of, read_regular

FILE_MAX_BYTES = 512 * 1024
"""Larger files get one line."""
_FILE_MAX_LINES = 20_000


def diff_text(changes: ChangeSet, workspace_fd: int, *, max_bytes: int | None) -> str:
    """The patch against the workspace, cut at `max_bytes` of text with a line that says what is missing."""
    parts: list[str] = []
    size = 0
    for shown, change in enumerate(changes.changes):
        part = _of_change(change, changes.root, workspace_fd)
        size += len(part.encode("utf-8", "surrogateescape"))
        if max_bytes is not None and size > max_bytes:
            parts.append(f"… and {len(changes) - shown} more changes, not shown\n")
            break
        parts.append(part)
    return "".join(parts)


def _of_change(change: Change, root: str | None, workspace_fd: int) -> str:
    name = change.path
    if change.node is Node.DIRECTORY or change.node is Node.OTHER:
        return f"{change.kind} {change.node}: {_quoted(name)}\n"
    if change.kind is ChangeKind.MODE:
        old = _old_mode(change.path, workspace_fd)
        return f"{_title(name)}old mode {old}\nnew mode {_mode(change)}\n"
    old_text, new_text = _old(change, workspace_fd), _new(change, root)
    if old_text is None or new_text is None or b"\0" in old_text or b"\0" in new_text:
        return f"{change.kind} (binary or large, {change.size_bytes} bytes): {_quoted(name)}\n"
    return "".join([*_head(change, name, workspace_fd), *_hunks(change, name, old_text, new_text)])


def _head(change: Change, name: str, workspace_fd: int) -> Iterator[str]:
    yield _title(name)
    if change.kind is ChangeKind.CREATED:
        yield f"new file mode {_mode(change)}\n"
    elif change.kind is ChangeKind.DELETED:
        yield f"deleted file mode {_old_mode(change.path, workspace_fd)}\n"
    else:
        old, new = _old_mode(change.path, workspace_fd), _mode(change)
        if change.mode is not None and old != new:
            yield f"old mode {old}\nnew mode {new}\n"


def _hunks(change: Change, name: str, old: bytes, new: bytes) -> Iterator[str]:
    before = "/dev/null" if change.kind is ChangeKind.CREATED else _side("a", name)
    after = "/dev/null" if change.kind is ChangeKind.DELETED else _side("b", name)
    lines = difflib.unified_diff(_lines(old), _lines(new), before, after)
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(data: bytes) -> list[str]:
    text = data.decode("utf-8", "surrogateescape")
    return [line + "\n" for line in text.split("\n")[:-1]] + [text.rpartition("\n")[2]] * (
        text[-1:] not in ("", "\n")
    )


def _old(change: Change, workspace_fd: int) -> bytes | None:
    if change.kind is ChangeKind.CREATED:
        return b""
    try:
        seen = lstat(workspace_fd, change.path)
        if seen is not None and (seen.st_mode & 0o170000) == 0o120000:
            return _link_of(workspace_fd, change.path)
        return _bounded(read_regular(workspace_fd, change.path, FILE_MAX_BYTES))
    except (OSError, ValueError):
        return None


def _link_of(workspace_fd: int, path: str) -> bytes:
    with parent_of(workspace_fd, path) as (fd, name):
        return os.fsencode(os.readlink(name, dir_fd=fd))


def _new(change: Change, root: str | None) -> bytes | None:
    if change.kind is ChangeKind.DELETED:
        return b""
    if change.node is Node.LINK:
        return os.fsencode(change.target or "")
    if root is None or not change.staged or not change.staged.startswith(f"{root}/"):
        return None
    try:
        fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _bounded(read_regular(fd, change.staged[len(root) + 1 :], FILE_MAX_BYTES))
    except (OSError, ValueError, Blocked):
        return None
    finally:
        os.close(fd)


def _bounded(data: bytes) -> bytes | None:
    return data if data.count(b"\n") <= _FILE_MAX_LINES else None


def _mode(change: Change) -> str:
    if change.node is Node.LINK:
        return "120000"
    return "100755" if (change.mode or 0) & 0o111 else "100644"


def _old_mode(path: str, workspace_fd: int) -> str:
    try:
        seen = lstat(workspace_fd, path)
    except (OSError, ValueError):
        seen = None
    if seen is None or (seen.st_mode & 0o170000) == 0o100000:
        return "100755" if seen is not None and seen.st_mode & 0o111 else "100644"
    return "120000"


def _title(path: str) -> str:
    return f"diff --git {_quoted(f'a/{path}')} {_quoted(f'b/{path}')}\n"


def _side(letter: str, path: str) -> str:
    """The name in a `---` or `+++` line; a tab ends one that holds a blank."""
    name = _quoted(f"{letter}/{path}")
    return f"{name}\t" if " " in name else name


def _quoted(path: str) -> str:
    """The path as git quotes it where it holds anything but printable characters."""
    if path.isprintable() and '"' not in path and "\\" not in path:
        return path
    shown = "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\{byte:03o}"
        for byte in os.fsencode(path)
    )
    return f'"{shown}"'
