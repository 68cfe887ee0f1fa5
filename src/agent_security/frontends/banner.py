"""The startup banner and the session-end summary, as plain lines (the specification's §4.4, CONTRACTS §2).

Both front ends print them on stderr. A line may hold foreign text (file names): whoever prints
it passes it through `text.py` first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from agent_security import __version__
from agent_security.calls import Mode
from agent_security.frontends.layout import took
from agent_security.frontends.lines import counted, held_lines
from agent_security.ports import Guarantees
from agent_security.session import Session

SHOWN_PATHS = 12


def undo_word(guarantees: Guarantees) -> str:
    """What can be put back: with the view everything, without it the file tools' own changes."""
    return "full" if guarantees.view else "file tools only"


def guarantees_line(guarantees: Guarantees) -> str:
    """`fs net env kill view (missing: limits)`."""
    names = [field.name for field in fields(guarantees)]
    missing = guarantees.missing(names)
    held = " ".join(name for name in names if name not in missing) or "none"
    return f"{held} (missing: {' '.join(missing)})" if missing else held


def banner(session: Session, *, model: str, audit_log: str) -> list[str]:
    """What this session may do, what confines it, and where its record is."""
    walls = session.sandbox.guarantees
    rows = [
        ("mode", f"{session.mode}{_warning(session.mode)}"),
        ("workspace", session.working_dir),
        ("model", model),
        ("sandbox", f"{session.sandbox.backend}: {guarantees_line(walls)}"),
        ("undo", undo_word(walls)),
        ("limits", _limits(session)),
        ("tools", " ".join(session.tools)),
        ("session", session.session_id),
        ("audit log", audit_log),
    ]
    lines = [f"agent-security {__version__}", *(f"  {name:<10} {value}" for name, value in rows)]
    if tracked := session.sandbox.tracked_secrets:
        lines.append(f"  not masked: git tracks {_some(tracked)}, so the model may come to read it")
    return lines


def _warning(mode: Mode) -> str:
    return " (edits and commands run unasked)" if mode is Mode.SKIP else ""


def _limits(session: Session) -> str:
    return (
        f"{session.caps.max_turns} turns a message, {session.caps.max_tool_calls} tool calls, "
        f"{session.budget.max_tokens} context tokens, ${session.cost.max_cost_usd:.2f}, "
        f"{session.tool_timeout_s:g} s a tool, {session.llm_timeout_s:g} s a request"
    )


def summary(session: Session, *, audit_log: str) -> list[str]:
    """The cost breakdown, what changed, what was held back, and how to put it back."""
    cost, tally = session.cost, session.tally
    lines = [
        f"session {session.session_id}: calls={cost.calls} tokens_in={cost.total_tokens_in} "
        f"tokens_out={cost.total_tokens_out} cost=${cost.total_cost_usd:.4f} "
        f"tool_calls={session.caps.tool_calls}"
    ]
    if tally.files_changed:
        lines.append(f"  changed    {_some(sorted(tally.files_changed))}")
    if tally.runs_later:
        lines.append(f"  runs later {_some(_with_codes(tally.runs_later))}")
    if tally.held_back:
        lines.append(f"  held back  {_some(held_lines(tally.held_back))}")
    if tally.denials:
        lines.append(f"  refused    {counted(len(tally.denials), 'call')}")
    if tally.files_changed:
        lines.append(f"  to undo    agent-security rollback {session.session_id}")
    return [*lines, f"  audit log  {audit_log}"]


def turn_line(session: Session, before: Spent, seconds: float) -> str:
    """What one message took: `12.3 s · 4 tool calls · 11,388 tokens · $0.0210 of $5.00 this session`."""
    cost, now = session.cost, Spent.of(session)
    calls, tokens = now.tool_calls - before.tool_calls, now.tokens - before.tokens
    money = f"${cost.total_cost_usd:.4f} of ${cost.max_cost_usd:.2f} this session" if cost.priced else ""
    told = [
        f"{seconds:.1f} s" if seconds < 60 else took(seconds),
        counted(calls, "tool call") if calls else "",
    ]
    return " · ".join(filter(None, [*told, f"{tokens:,} tokens", money]))


@dataclass(frozen=True, slots=True)
class Spent:
    """What a session had used at one moment."""

    tokens: int
    tool_calls: int

    @classmethod
    def of(cls, session: Session) -> Spent:
        cost = session.cost
        return cls(cost.total_tokens_in + cost.total_tokens_out, session.caps.tool_calls)


def _with_codes(paths: dict[str, str]) -> list[str]:
    return [f"{path} ({code})" for path, code in sorted(paths.items())]


def _some(paths: Sequence[str]) -> str:
    more = len(paths) - SHOWN_PATHS
    shown = ", ".join(paths[:SHOWN_PATHS])
    return f"{shown} and {more} more" if more > 0 else shown
