"""What was held back: its bytes wait in the session's folder for a later yes (DESIGN §3.2)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from agent_security.changes.apply import Staged
from agent_security.changeset import Change, ChangeKind, ChangeSet, Node
from agent_security.errors import ChangeError

NEVER_APPLIED = frozenset({"link_out", "set_id", "special_file", "too_large"})
"""Refused in every mode: no yes applies these, and their bytes are not kept."""


@dataclass(frozen=True, slots=True)
class HeldChange:
    """One change that waits, the code it was held for, and the call it came from."""

    change: Change
    code: str
    call_id: str
    since_ns: int


class HeldStore:
    """`folder/held.json` and one file of bytes a change; the newest change of a path replaces older ones."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._list = os.path.join(folder, "held.json")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.waiting: dict[str, HeldChange] = {}
        self._next = 0
        self.load()

    def load(self) -> None:
        """Read the list again; another process may have changed it."""
        with suppress(FileNotFoundError), open(self._list, "rb") as file:
            stored = json.loads(file.read())
            self._next = stored["next"]
            self.waiting = {fields["change"]["path"]: _read(fields) for fields in stored["held"]}

    def add(self, call_id: str, changes: ChangeSet, codes: Mapping[str, str]) -> None:
        """Keep the changes that `codes` names. Raises ChangeError where their bytes cannot be kept."""
        if not codes:
            return
        to_fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with Staged(changes) as staged:
                for change in changes.changes:
                    if code := codes.get(change.path, ""):
                        kept = self._keep(change, code, staged, to_fd)
                        self._drop(change.path)
                        self.waiting[change.path] = HeldChange(kept, code, call_id, changes.since_ns)
        finally:
            os.close(to_fd)
        self._save()

    def _keep(self, change: Change, code: str, staged: Staged, to_fd: int) -> Change:
        fields: dict[str, Any] = {}
        if change.node is Node.FILE and change.staged and change.kind is not ChangeKind.DELETED:
            if code in NEVER_APPLIED:
                fields["staged"] = None
            else:
                name, self._next = f"{self._next:06}", self._next + 1
                staged.move_to(change, to_fd, name)
                fields["staged"] = os.path.join(self.folder, name)
        return _replaced(change, fields)

    def take(self, paths: Iterable[str]) -> list[tuple[str, ChangeSet]]:
        """The waiting changes of these paths, one (call id, change set) for each call they came from.

        The folders they need come along, and what has to go where a file replaces a folder.
        """
        wanted = {path for path in paths if path in self.waiting and self._may(path)}
        wanted |= {path for path in self.waiting if any(self._needs(other, path) for other in wanted)}
        calls: dict[tuple[str, int], list[Change]] = {}
        for path in sorted(wanted):
            held = self.waiting[path]
            calls.setdefault((held.call_id, held.since_ns), []).append(held.change)
        return [
            (call, ChangeSet(tuple(changes), since, self.folder)) for (call, since), changes in calls.items()
        ]

    def _needs(self, path: str, other: str) -> bool:
        change, needed = self.waiting[path].change, self.waiting[other].change
        if path.startswith(f"{other}/"):
            return needed.node is Node.DIRECTORY and needed.kind in (ChangeKind.CREATED, ChangeKind.CHANGED)
        replaces = change.kind is ChangeKind.CHANGED and change.node is not Node.DIRECTORY
        return other.startswith(f"{path}/") and replaces and needed.kind is ChangeKind.DELETED

    def _may(self, path: str) -> bool:
        return self.waiting[path].code not in NEVER_APPLIED

    def remove(self, paths: Iterable[str]) -> None:
        """Forget changes that were applied or refused for good, their bytes too."""
        for path in paths:
            self._drop(path)
            self.waiting.pop(path, None)
        self._save()

    def _drop(self, path: str) -> None:
        held = self.waiting.get(path)
        if held is not None and held.change.staged:
            with suppress(FileNotFoundError):
                os.unlink(held.change.staged)

    def _save(self) -> None:
        fields = [
            {
                "change": asdict(held.change),
                "code": held.code,
                "call": held.call_id,
                "since_ns": held.since_ns,
            }
            for _, held in sorted(self.waiting.items())
        ]
        part = f"{self._list}.part"
        try:
            with open(part, "w", encoding="ascii") as file:
                json.dump({"next": self._next, "held": fields}, file)
                file.flush()
                os.fsync(file.fileno())
            os.rename(part, self._list)
        except OSError as error:
            raise ChangeError(f"what is held back cannot be kept: {error}") from error


def _replaced(change: Change, fields: Mapping[str, Any]) -> Change:
    return Change(**{**asdict(change), **fields})


def _read(fields: Mapping[str, Any]) -> HeldChange:
    change = dict(fields["change"])
    change["kind"], change["node"] = ChangeKind(change["kind"]), Node(change["node"])
    return HeldChange(Change(**change), fields["code"], fields["call"], fields["since_ns"])
