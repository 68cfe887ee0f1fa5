"""Earlier sessions of the same workspace that crashed: their half-applied change set is put right first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from agent_security.changes import ChangeStore
from agent_security.errors import ChangeError
from agent_security.ports import Listener
from agent_security.sandboxes import remove_leftovers
from agent_security.wiring.records import SessionRecord, end_record, read_records, sandbox_folder


def crashed_sessions(working_dir: str) -> Iterator[SessionRecord]:
    """Sessions of this workspace that never ended and whose process is gone."""
    return (r for r in read_records() if r.working_dir == working_dir and r.word == "crashed")


def recover_crashed(working_dir: str, listener: Listener) -> None:
    """Finish or take back each one's journal, and tell the person how to put the rest back."""
    for record in crashed_sessions(working_dir):
        try:
            with closing(ChangeStore(working_dir, record.changes_folder)) as store:
                store.recover()
        except (ChangeError, OSError) as error:
            listener.notice("recovery_failed", session_id=record.session_id, reason=str(error))
            continue
        remove_leftovers(str(sandbox_folder(record.folder)))
        end_record(record, record.files_changed)
        listener.notice("recovered", session_id=record.session_id)
