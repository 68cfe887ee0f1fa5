"""Where a path argument leads, seen from inside: beneath the workspace or an added folder, or nowhere.

The gates have judged the path before; this is the second look, on what really stands there.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field


class ToolError(Exception):
    """Bad news for the model: the text says what is wrong and what to do."""


@dataclass
class Place:
    """The workspace, the readable folders beside it, and what is masked (path -> the bytes shown)."""

    workspace: str
    added: tuple[str, ...] = ()
    masks: dict[str, bytes] = field(default_factory=dict)

    def resolve(self, path: str) -> str:
        """The real path, links followed. Raises ToolError where it leaves the roots."""
        if "\0" in path:
            raise ToolError("the path holds a NUL byte")
        try:
            real = os.path.realpath(os.path.join(self.workspace, path))
        except OSError as error:
            raise ToolError(f"{path}: {error.strerror}") from error
        if not any(is_beneath(real, root) for root in (self.workspace, *self.added)):
            raise ToolError(f"{path} leads out of the workspace")
        return real

    def shown(self, real: str) -> str:
        """How a path is written for the model: relative to the workspace where it lies in it."""
        return os.path.relpath(real, self.workspace) if is_beneath(real, self.workspace) else real

    def relative(self, path: str, real: str) -> str:
        """The path within the workspace, for a write. Raises ToolError for an added folder or a mask."""
        if not is_beneath(real, self.workspace) or real == self.workspace:
            raise ToolError(f"{path} is not in the workspace: added folders are for reading")
        relative = os.path.relpath(real, self.workspace)
        if relative in self.masks:
            raise ToolError(f"{relative} is masked, so it cannot be written here")
        return relative

    def masked(self, real: str) -> bytes | None:
        """The bytes shown in place of this file's, or None where it is not masked."""
        return self.masks.get(os.path.relpath(real, self.workspace)) if self.masks else None


def is_beneath(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def open_regular(real: str, shown: str) -> int:
    """A descriptor of a regular file. A FIFO, socket or device is refused and never waited for."""
    try:
        fd = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise ToolError(f"{shown} does not exist{_nearby(real)}") from None
    except OSError as error:
        raise ToolError(f"{shown} cannot be opened: {error.strerror}") from error
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return fd
    os.close(fd)
    kind = "a folder: use glob_files" if stat.S_ISDIR(mode) else "no regular file (a FIFO, socket or device)"
    raise ToolError(f"{shown} is {kind}")


def _nearby(real: str) -> str:
    """A hint for a mistyped name: files of the same folder that look alike."""
    folder, name = os.path.split(real)
    try:
        names = os.listdir(folder)[:2000]
    except OSError:
        return "; nor does its folder"
    import difflib  # only for bad news: it costs a millisecond to import

    close = difflib.get_close_matches(name, names, n=3)
    return f"; did you mean {', '.join(sorted(close))}?" if close else ""
