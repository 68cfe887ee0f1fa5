"""A change set: all that one call would change in the workspace, not yet applied (DESIGN §3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ChangeKind(StrEnum):
    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    MODE = "mode"
    """Only permission bits differ."""


class Node(StrEnum):
    """What a name stands for: afterwards, or, for a deletion, before."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    OTHER = "other"
    """A device, socket or FIFO: always refused."""


@dataclass(frozen=True, slots=True)
class Change:
    """One path's change.

    `path` is relative to the workspace, with "/" between its parts; bytes that are not UTF-8
    stand as surrogate escapes. `mode` holds the permission bits afterwards. `before` and
    `after` are SHA-256 digests (64 hex digits) of a file's bytes, None where there is none or
    where it was not needed. `staged` is the absolute path, outside the workspace, of the file
    that holds the new bytes.
    """

    path: str
    kind: ChangeKind
    node: Node = Node.FILE
    mode: int | None = None
    target: str | None = None
    size_bytes: int = 0
    before: str | None = None
    after: str | None = None
    staged: str | None = None


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """What one call would change, parents before children. Empty means: nothing.

    `since_ns` is when the call began, on the file system's own clock: a file of the person's
    that changed after that is a conflict. `root` is the folder the staged bytes live in.
    """

    changes: tuple[Change, ...] = ()
    since_ns: int = 0
    root: str | None = None

    def __len__(self) -> int:
        return len(self.changes)

    def __bool__(self) -> bool:
        return bool(self.changes)
