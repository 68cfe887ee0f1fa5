"""A change set of one file: what `write_file` and `edit_file` make (DESIGN §3.2)."""

from __future__ import annotations

import hashlib
import os

from agent_security.changeset import Change, ChangeKind, ChangeSet, Node
from agent_security.descriptors import parts_of
from agent_security.errors import ChangeError


def stage_file(
    folder: str, path: str, data: bytes, *, mode: int | None, before: str | None, existed: bool
) -> ChangeSet:
    """A change set of one file (`write_file`, `edit_file`). Bytes equal to `before` give an empty one.

    `before` is the digest of the bytes the tool read: another content by now is a conflict.
    Raises ValueError for a path that could leave the workspace, ChangeError where staging fails.
    """
    parts_of(path)
    after = hashlib.sha256(data).hexdigest()
    if existed and before == after and mode is None:
        return ChangeSet()
    kind = ChangeKind.CHANGED if existed else ChangeKind.CREATED
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        staged, since_ns = _write_new(folder, data)
    except OSError as error:
        raise ChangeError(f"{path}: cannot be staged: {error}") from error
    change = Change(path, kind, Node.FILE, mode, None, len(data), before if existed else None, after, staged)
    return ChangeSet((change,), since_ns, folder)


def _write_new(folder: str, data: bytes) -> tuple[str, int]:
    name = os.path.join(folder, f"staged-{os.urandom(8).hex()}")
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        return name, os.fstat(fd).st_ctime_ns
