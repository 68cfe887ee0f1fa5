"""What an undo or rollback says, in plain lines; shared by the commands and the slash commands."""

from __future__ import annotations

from agent_security.changes import Undone


def undone_lines(undone: Undone) -> list[str]:
    """What was put back, and what was left because the person changed it meanwhile."""
    lines = [f"put back: {path}" for path in sorted(undone.restored)]
    lines += [f"left alone: {path} ({why})" for path, why in sorted(undone.conflicts.items())]
    return lines or ["nothing to put back"]
