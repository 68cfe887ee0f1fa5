"""How a run ended: its exit code (CONTRACTS §3) and the result object of `--output-format json` (§4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from agent_security.calls import ToolCall
from agent_security.decision import Decision
from agent_security.frontends.banner import undo_word
from agent_security.frontends.exits import PRECEDENCE, Exit
from agent_security.loop.turn import TurnOutcome
from agent_security.session import Session
from agent_security.steps import loose_args

KINDS: dict[str, Exit] = {
    "success": Exit.DONE,
    "error_during_execution": Exit.INTERNAL,
    "error_max_turns": Exit.LIMIT,
    "error_max_tool_calls": Exit.LIMIT,
    "error_max_budget_usd": Exit.LIMIT,
    "error_deadline": Exit.LIMIT,
    "error_approval_required": Exit.APPROVAL,
    "error_provider": Exit.PROVIDER,
    "error_sandbox": Exit.SANDBOX,
    "error_tripwire": Exit.TRIPWIRE,
    "aborted": Exit.SIGINT,
}
"""Every `subtype`, with the exit code it stands for (SIGTERM's is 143)."""


def exit_code(outcome: TurnOutcome, session: Session) -> Exit:
    """The first that holds of 130/143, 7, 4, 3, 6, 1, 5; else 0. Blocked attacks are no failure."""
    holds = {KINDS.get(outcome.kind, Exit.INTERNAL)}
    if session.tally.approval_missing:
        holds.add(Exit.APPROVAL)
    if session.abort.triggered:
        holds.add(Exit.SIGINT)
    if Exit.SIGINT in holds and "TERM" in f"{session.abort.reason} {outcome.reason}":
        holds = {Exit.SIGTERM if code is Exit.SIGINT else code for code in holds}
    return next((code for code in PRECEDENCE if code in holds), Exit.DONE)


def subtype_of(outcome: TurnOutcome, code: Exit) -> str:
    """The loop's own word where it is the one that decided the exit code, else the code's."""
    if KINDS.get(outcome.kind) is code:
        return outcome.kind
    if code in (Exit.SIGINT, Exit.SIGTERM):
        return "aborted"
    return next(kind for kind, its_code in KINDS.items() if its_code is code)


def result_object(
    outcome: TurnOutcome, session: Session, *, duration_ms: int, audit_log: str
) -> dict[str, Any]:
    """Every field of CONTRACTS §4, secrets redacted."""
    code = exit_code(outcome, session)
    walls, tally, cost = session.sandbox.guarantees, session.tally, session.cost
    found = _bare(subtype_of(outcome, code), code, outcome.text or outcome.reason) | {
        "retryable": outcome.retryable,
        "session_id": session.session_id,
        "num_turns": outcome.requests,
        "tool_calls": session.caps.tool_calls,
        "questions": tally.questions,
        "duration_ms": duration_ms,
        "total_cost_usd": round(cost.total_cost_usd, 6),
        "usage": usage_of(session),
        "permission_denials": [denial(call, decision) for call, decision in tally.denials],
        "files_changed": sorted(tally.files_changed),
        "held_back": sorted(tally.held_back),
        "runs_later": sorted(tally.runs_later),
        "undo": undo_word(walls),
        "sandbox": {"backend": session.sandbox.backend, "guarantees": asdict(walls)},
        "audit_log": audit_log,
    }
    scrubbed: dict[str, Any] = scrubbed_with(session.redactor.redact, found)
    return scrubbed


def failed_start(subtype: str, code: Exit, message: str, *, retryable: bool = False) -> dict[str, Any]:
    """The same object for a run that never had a session."""
    return _bare(subtype, code, message) | {"retryable": retryable}


def _bare(subtype: str, code: Exit, text: str) -> dict[str, Any]:
    """The fields in the order of the contract, with what holds before anything happened."""
    return {
        "type": "result",
        "subtype": subtype,
        "is_error": code is not Exit.DONE,
        "retryable": False,
        "result": text,
        "session_id": "",
        "num_turns": 0,
        "tool_calls": 0,
        "questions": 0,
        "duration_ms": 0,
        "total_cost_usd": 0.0,
        "usage": {"input_tokens": 0, "output_tokens": 0, "estimated": False},
        "permission_denials": [],
        "files_changed": [],
        "held_back": [],
        "runs_later": [],
        "undo": "file tools only",
        "sandbox": {"backend": "", "guarantees": {}},
        "audit_log": "",
    }


def usage_of(session: Session) -> dict[str, Any]:
    cost = session.cost
    return {
        "input_tokens": cost.total_tokens_in,
        "output_tokens": cost.total_tokens_out,
        "estimated": bool(cost.estimated),
    }


def denial(call: ToolCall, decision: Decision) -> dict[str, Any]:
    """One entry of `permission_denials`."""
    return {
        "tool_name": call.name,
        "tool_use_id": call.id,
        "tool_input": loose_args(call),
        "gate": decision.gate,
        "code": decision.code,
        "kind": str(decision.kind),
        "reason": decision.reason,
    }


def scrubbed_with(redact: Callable[[str], str], value: Any) -> Any:
    """The value with every text in it passed through `redact`: keys too, a model may write any."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key): scrubbed_with(redact, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [scrubbed_with(redact, item) for item in value]
    return value
