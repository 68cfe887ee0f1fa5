"""The one place that chooses concrete parts (DESIGN §2, F6)."""

from __future__ import annotations

from agent_security.wiring.build import build_session
from agent_security.wiring.choices import settings_for
from agent_security.wiring.closing import close_session
from agent_security.wiring.records import SessionRecord, read_records, record_of
from agent_security.wiring.workspace import added_dirs_at, workspace_at

__all__ = [
    "SessionRecord",
    "added_dirs_at",
    "build_session",
    "close_session",
    "read_records",
    "record_of",
    "settings_for",
    "workspace_at",
]
