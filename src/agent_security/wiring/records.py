"""`<state>/sessions/<id>/session.json`: what `sessions`, `rollback` and recovery know of a session.

Written when a session starts and again when it ends; a session without an end whose process is
gone has crashed.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from agent_security.errors import UsageError
from agent_security.settings import state_dir

_NAME = "session.json"


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One session on disk. Times are seconds since 1970; `ended_s` is 0 while it runs or after a crash."""

    session_id: str
    working_dir: str
    audit_log: str
    pid: int
    pid_started: str
    """The kernel's start time of `pid`: a later process with the same number is another one."""
    started_s: float
    ended_s: float = 0.0
    files_changed: int = 0

    @property
    def running(self) -> bool:
        return not self.ended_s and self.pid_started != "" and process_started(self.pid) == self.pid_started

    @property
    def word(self) -> str:
        """running, ended or crashed."""
        return "ended" if self.ended_s else "running" if self.running else "crashed"

    @property
    def folder(self) -> Path:
        return sessions_dir() / self.session_id

    @property
    def changes_folder(self) -> str:
        return str(self.folder / "changes")


def sessions_dir() -> Path:
    return Path(state_dir()) / "sessions"


def process_started(pid: int) -> str:
    """The start time of a process in clock ticks since boot, or "" where there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # the second field, the name, may hold spaces and brackets; the 22nd is the start time
    return stat.rpartition(")")[2].split()[19]


def new_record(session_id: str, working_dir: str, audit_log: str) -> SessionRecord:
    """The record of a session that starts in this process, written."""
    pid = os.getpid()
    record = SessionRecord(session_id, working_dir, audit_log, pid, process_started(pid), time.time())
    write_record(record)
    return record


def write_record(record: SessionRecord) -> None:
    """Whole or not at all."""
    path = record.folder / _NAME
    part = path.with_suffix(".part")
    part.write_text(json.dumps(asdict(record)), encoding="utf-8")
    part.chmod(0o600)
    part.replace(path)


def sandbox_folder(session_folder: Path) -> Path:
    """Where a session's wall keeps its private folders."""
    return session_folder / "sandbox"


def end_record(record: SessionRecord, files_changed: int) -> None:
    write_record(replace(record, ended_s=time.time(), files_changed=files_changed))


def read_records() -> Iterator[SessionRecord]:
    """Every session of this machine's state directory, newest first; what cannot be read is left out."""
    found = []
    for path in sessions_dir().glob(f"*/{_NAME}"):
        try:
            found.append(SessionRecord(**json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, TypeError):
            continue
    yield from sorted(found, key=lambda record: -record.started_s)


def record_of(session_id: str) -> SessionRecord:
    """One session by its id, or by a beginning that fits only one. Raises UsageError."""
    fits = [record for record in read_records() if record.session_id.startswith(session_id)]
    exact = [record for record in fits if record.session_id == session_id]
    if len(exact or fits) != 1:
        raise UsageError(
            f"{'no' if not fits else 'more than one'} session {session_id!r}: see agent-security sessions"
        )
    return (exact or fits)[0]
