"""One recorded event as one line of a timeline. Every foreign byte passes `text.for_terminal`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from agent_security.text import for_terminal

Record = Mapping[str, Any]

_WIDTH = 100
_NO_DETAIL = frozenset({"seq", "ts", "session_id", "event", "prev", "hash"})


@dataclass(frozen=True, slots=True)
class Paint:
    """Colours where they are wanted, plain text everywhere else."""

    on: bool = False

    def __call__(self, text: str, colour: str) -> str:
        return click.style(text, fg=colour) if self.on and colour else text


def one_line(value: object, width: int = _WIDTH) -> str:
    """Any recorded value on one line, neutralised, cut at `width` characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    start = for_terminal(text[: width * 2])
    start = " ".join(start.split())
    return start if len(start) <= width and len(text) <= width * 2 else f"{start[: width - 1]}…"


def timeline_line(record: Record, paint: Paint) -> str:
    """`   12  14:03:22  permission_decision      refused run_bash …`."""
    event = str(record.get("event", ""))
    word, colour, detail = _DETAILS.get(event, _other)(record)
    clock = one_line(str(record.get("ts", ""))[11:19], 8)
    seq = one_line(record.get("seq", "?"), 8)
    shown = paint(word, colour)
    parts = [f"{seq:>6}", f"{clock:8}", f"{one_line(event, 24):24}", shown, detail]
    return "  ".join(part for part in parts if part).rstrip()


Detail = tuple[str, str, str]
"""(word, its colour, the rest)."""


def _call(record: Record) -> str:
    return f"{one_line(record.get('tool', ''), 40)} {one_line(record.get('args', ''))}".strip()


def _decision(record: Record) -> Detail:
    allowed = record.get("allowed") is True
    why = "" if allowed else f": {one_line(record.get('reason', ''), 160)}"
    return ("allowed" if allowed else "refused"), ("green" if allowed else "red"), f"{_call(record)}{why}"


def _result(record: Record) -> Detail:
    if record.get("permission_allowed") is not True:
        return "not run", "red", _call(record)
    if record.get("container_error"):
        return "failed", "red", f"{_call(record)}: {one_line(record.get('container_reason', ''))}"
    size = record.get("size", record.get("truncated_from_size", 0))
    return one_line(record.get("status", "done"), 12), "", f"{_call(record)} → {one_line(size, 20)} bytes"


def _content(record: Record) -> Detail:
    calls = record.get("tool_calls")
    more = f" (+{len(calls)} tool calls)" if isinstance(calls, list) and calls else ""
    return "", "", f"{one_line(record.get('content') or '')}{more}".strip()


def _warning(record: Record) -> Detail:
    return "!", "yellow", _rest(record)


def _approval(record: Record) -> Detail:
    yes = record.get("yes") is True
    return ("yes" if yes else "no"), ("green" if yes else "red"), _rest(record, "yes")


def _other(record: Record) -> Detail:
    return "", "", _rest(record)


def _rest(record: Record, *without: str) -> str:
    kept = (item for item in record.items() if item[0] not in _NO_DETAIL and item[0] not in without)
    return one_line(" ".join(f"{one_line(name, 40)}={one_line(value, 60)}" for name, value in kept), 200)


_DETAILS: dict[str, Callable[[Record], Detail]] = {
    "permission_decision": _decision,
    "tool_result": _result,
    "user_message": _content,
    "assistant_message": _content,
    "approval": _approval,
    "validation_error": _warning,
    "intent_drift_suspected": _warning,
    "tool_timeout": _warning,
    "iteration_cap_hit": _warning,
    "cost_limit_hit": _warning,
    "llm_call_error": _warning,
    "session_abort": _warning,
    "plan_rejected": _warning,
    "unreadable": _warning,
}
