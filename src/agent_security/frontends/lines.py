"""One line for what each call does, as plain text. Whoever prints it passes it through `text.py` first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agent_security.calls import Status, ToolCall, ToolOutput, ToolResult
from agent_security.changes import Applied

TITLE_CHARS = 120
_NO_SIZE = frozenset({"write_file", "edit_file", "scratchpad_write", "todo_write"})
"""Their answer is one line that says "done"."""

_SUBJECTS: Mapping[str, Callable[[dict[str, Any]], str]] = {
    "read_file": lambda args: str(args.get("path", "")),
    "glob_files": lambda args: f"{args.get('pattern', '')} {_in(args)}",
    "grep": lambda args: f"{args.get('pattern', '')} {_in(args)}",
    "write_file": lambda args: str(args.get("path", "")),
    "edit_file": lambda args: str(args.get("path", "")),
    "run_bash": lambda args: str(args.get("command", "")),
    "webfetch": lambda args: str(args.get("url", "")),
    "todo_write": lambda args: counted(len(args.get("todos") or ()), "item"),
}


def _in(args: dict[str, Any]) -> str:
    return f"in {args['path']}" if args.get("path") else ""


def title(call: ToolCall) -> str:
    """The tool and what it is about: `read_file src/x.py`. Cut, and on one line."""
    try:
        about = _SUBJECTS.get(call.name)
        subject = about(call.args) if about is not None else ""
    except (ValueError, TypeError):
        subject = call.args_json
    line = " ".join(f"{call.name} {subject}".split())
    return line if len(line) <= TITLE_CHARS else f"{line[: TITLE_CHARS - 1]}…"


def outcome(result: ToolResult, output: ToolOutput, applied: Applied) -> str:
    """What came of a call: `40 lines`, `exit 1 · 12 lines · 2 files changed`, `refused by policy: …`."""
    if result.status is Status.REFUSED:
        return f"refused by {result.decision.gate}: {result.decision.reason}"
    parts = [_status(result, output), _size(output, result.call.name), *_effects(applied)]
    return " · ".join(part for part in parts if part)


def _status(result: ToolResult, output: ToolOutput) -> str:
    if result.status in (Status.TIMEOUT, Status.BROKEN, Status.ABORTED):
        return f"{result.status}: {' '.join(output.text.split())[:TITLE_CHARS]}"
    if result.exit_code is not None:
        return f"exit {result.exit_code}"
    return " ".join(output.text.split())[:TITLE_CHARS] if result.status is Status.ERROR else ""


def _size(output: ToolOutput, tool: str) -> str:
    if output.status is not Status.OK and output.exit_code is None:
        return ""
    return "" if tool in _NO_SIZE else counted(len(output.text.splitlines()), "line")


def _effects(applied: Applied) -> list[str]:
    held = ", ".join(held_lines(applied.held))
    conflicts = ", ".join(sorted(applied.conflicts))
    return [
        counted(len(applied.changed), "file") + " changed" if applied.changed else "",
        f"held back: {held}" if held else "",
        f"changed by you meanwhile, left alone: {conflicts}" if conflicts else "",
    ]


def held_lines(held: Mapping[str, str]) -> list[str]:
    """`.git/hooks/pre-commit (first_tier)`; a folder only where nothing in it is held back itself."""
    return [
        f"{path} ({code})"
        for path, code in sorted(held.items())
        if not any(other.startswith(f"{path}/") for other in held)
    ]


def counted(count: int, thing: str) -> str:
    """`1 file`, `2 files`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def recovered(session_id: str) -> str:
    """What is said of a crashed session that was put right."""
    return (
        f"session {session_id} of this project had crashed: its half-done change was settled "
        f"(to undo all it did: agent-security rollback {session_id})"
    )


def recovery_failed(session_id: str, reason: str) -> str:
    return f"session {session_id} of this project had crashed and could not be put right: {reason}"
