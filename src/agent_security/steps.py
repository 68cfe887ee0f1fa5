"""The steps of the spine that are more than one line. `pipeline.py` calls each once, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent_security.calls import Effect, Mode, Origin, Status, ToolCall, ToolOutput, ToolResult
from agent_security.changes import Applied
from agent_security.changeset import Change, ChangeSet
from agent_security.codes import CODES
from agent_security.decision import Decision, Verdict, allow, deny
from agent_security.errors import ChangeError
from agent_security.gates import judge_effects, offers_for
from agent_security.ports import Answer, Question
from agent_security.prompt_safety import (
    attribute,
    everything_found,
    fresh_nonce,
    mark_by_origin,
    wrap_tool_result,
)
from agent_security.resource_limits import cap_tool_result
from agent_security.session import Session
from agent_security.text import for_model

SUSPICIONS_LOGGED = 20
"""Findings of one result that are put on record."""

Held = dict[str, str]
"""Path -> code, for what is held back."""


def stop_if_due(session: Session) -> Decision | None:
    """Step 1. The abort flag, then the session's cap; counts this call."""
    if session.abort.triggered:
        return deny("abort", "aborted", f"the session is being stopped ({session.abort.reason})")
    if reason := session.caps.count_tool_call():
        session.audit.log("iteration_cap_hit", scope="session", tool_calls=session.caps.tool_calls)
        return deny("caps", "tool_call_cap", reason)
    return None


def deadline_s(call: ToolCall, session: Session) -> float:
    """`timeout_s` can only shorten the session's own time-out (CONTRACTS §1)."""
    asked = call.args.get("timeout_s")
    return min(float(asked), session.tool_timeout_s) if asked else session.tool_timeout_s


# --- 3 ------------------------------------------------------------------------------------------


def ask_person(call: ToolCall, decision: Decision, session: Session) -> tuple[Decision, str | None]:
    """Step 3. One question a gate that asks, the plan first. Returns (decision, edited arguments)."""
    for asked in sorted(decision.questions, key=lambda question: question.gate != "plan"):
        answer = _put(call, asked, ChangeSet(), session)
        if answer.edited_args_json is not None:
            return decision, answer.edited_args_json
        if not answer.yes:
            return _refusal(asked, answer).with_trail(decision.trail), None
    return allow(decision.gate, "approved", f"approved: {decision.reason}").with_trail(decision.trail), None


def _put(call: ToolCall, asked: Decision, changes: ChangeSet, session: Session) -> Answer:
    """Put one question, count it, record who answered, keep what they chose to remember."""
    offers = () if changes else offers_for(call, asked, session.judge_context())
    question = Question(call, asked, changes, offers)
    session.listener.notice("question", question=question)
    try:
        answer = session.approver.ask(question)
    except (EOFError, KeyboardInterrupt):
        answer = Answer(by="person")
    if answer.by != "nobody":
        session.tally.questions += 1
    session.audit.log(
        "approval",
        tool=call.name,
        gate=asked.gate,
        code=asked.code,
        kind=str(asked.kind),
        paths=[change.path for change in changes.changes],
        yes=answer.yes,
        by=answer.by,
        remember=answer.remember,
    )
    if asked.gate == "plan" and answer.by != "nobody":
        session.plan.approved = answer.yes
        session.audit.log("plan_approved" if answer.yes else "plan_rejected", tool=call.name)
    if answer.yes and answer.remember in offers and answer.remember:
        session.rules = session.rules.with_grant(answer.remember, call)
    if not answer.yes and answer.by == "nobody" and not session.provenance.asked_by_text(call.args):
        session.tally.approval_missing = session.mode is not Mode.SKIP
    return answer


def _refusal(asked: Decision, answer: Answer) -> Decision:
    if answer.by == "nobody":
        return replace(
            deny(
                asked.gate,
                "nobody_to_ask",
                f"needs approval and nobody is here to give it: {asked.reason}; do the rest without it",
            ),
            kind=asked.kind,
        )
    return replace(
        deny(asked.gate, "refused_by_person", f"a person said no: {asked.reason}"), kind=asked.kind
    )


# --- 4 ------------------------------------------------------------------------------------------


def record_decision(call: ToolCall, decision: Decision, session: Session) -> None:
    """Step 4. Raises AuditError, and then nothing runs."""
    args = loose_args(call)
    if decision.gate == "validation" and not decision.allowed:
        session.audit.log("validation_error", tool=call.name, args=args, errors=decision.reason.split("; "))
    if drift := drift_of(decision):
        session.audit.log("intent_drift_suspected", tool=call.name, args=args, reason=drift)
    session.audit.log_permission_decision(
        call.name,
        args,
        str(session.mode),
        decision.allowed,
        f"{decision.code}: {decision.reason}",
        code=decision.code,
        gate=decision.gate,
        kind=str(decision.kind),
        tool_call_id=call.id,
        call_digest=call.digest,
        trail=[f"{answer.gate}:{answer.word}:{answer.code}" for answer in decision.trail],
    )
    if not decision.allowed:
        session.tally.denials.append((call, decision))
        session.listener.notice("permission_denied", call=call, decision=decision)


def loose_args(call: ToolCall) -> Mapping[str, Any] | str:
    """The arguments for the record: the object, or the text where it is none."""
    try:
        return call.args
    except ValueError:
        return call.args_json


def drift_of(decision: Decision) -> str:
    """The intent gate's reason where it saw drift, whatever became of the call (§1.4)."""
    return next((a.reason for a in decision.trail if a.gate == "intent" and a.code != "ok"), "")


# --- 6, 7 ---------------------------------------------------------------------------------------


def judge_changes(call: ToolCall, decision: Decision, changes: ChangeSet, session: Session) -> Held:
    """Step 6. Effects, not text. What is refused, or asked about without a yes, is held back.

    A file tool changes the one file its call names, so what a person allowed about it in step 3
    is not asked a second time; a command's effect always is.
    """
    held: Held = {}
    answered = _answered(call, decision, session)
    for judged in judge_effects(changes, session.judge_context(), session.apply):
        affected = tuple(change for change in changes.changes if change.path in judged.paths)
        verdict = judged.decision.verdict
        if verdict is Verdict.ASK and judged.decision.code in answered:
            verdict = Verdict.ALLOW
        if verdict is Verdict.ASK:
            answer = _put(call, judged.decision, replace(changes, changes=affected), session)
            verdict = Verdict.ALLOW if answer.yes else Verdict.DENY
        if verdict is Verdict.DENY:
            held |= dict.fromkeys(judged.paths, judged.decision.code)
        elif judged.runs_later:
            session.tally.runs_later |= dict.fromkeys(judged.paths, judged.decision.code)
    if _promised_nothing(decision):
        held = dict.fromkeys((change.path for change in changes.changes), "changed_unasked") | held
    if changes:
        session.audit.log(
            "change_set",
            tool=call.name,
            tool_call_id=call.id,
            changes=[_change_fields(change) for change in changes.changes],
            held_back=held,
        )
    return held


def _promised_nothing(decision: Decision) -> bool:
    """The command ran unasked because it is known to change nothing. If something did change (git's
    configuration can make `git status` run a program), the person was not asked about that."""
    return any(answer.code == "read_only_command" for answer in decision.trail)


def _answered(call: ToolCall, decision: Decision, session: Session) -> frozenset[str]:
    """The codes of the questions that a person said yes to for this very file."""
    if not decision.allowed or session.tools[call.name].effect is not Effect.WRITE:
        return frozenset()
    return frozenset(question.code for question in decision.questions)


def _change_fields(change: Change) -> dict[str, Any]:
    return {
        "path": change.path,
        "kind": str(change.kind),
        "node": str(change.node),
        "mode": change.mode,
        "before": change.before,
        "after": change.after,
    }


def apply_changes(
    call: ToolCall, output: ToolOutput, held: Held, session: Session
) -> tuple[Applied, ToolOutput]:
    """Step 7. A change set that cannot be applied is an answer; nothing of it is half done."""
    try:
        applied = session.changes.apply(call.id, output.changes, hold=held)
    except ChangeError as error:
        return Applied(), replace(output, text=f"{output.text}\n{error}".strip(), status=Status.BROKEN)
    session.tally.files_changed |= applied.changed
    session.tally.held_back |= applied.held
    return applied, output


# --- 8, 9 ---------------------------------------------------------------------------------------


def present(call: ToolCall, output: ToolOutput, applied: Applied, session: Session) -> str:
    """Step 8. Redact before anything is cut, mark by origin, wrap last; the harness's notes follow."""
    text = session.redactor.redact(output.text) or "(no output)"
    text = cap_tool_result(text)
    text = mark_by_origin(for_model(text), output.origin, output.source)
    wrapped = wrap_tool_result(call.name, text, nonce=fresh_nonce())
    return "\n".join([wrapped, *(f"[harness] {note}" for note in _notes(applied))])


def _notes(applied: Applied) -> list[str]:
    held, conflicts = sorted(applied.held.items()), sorted(applied.conflicts.items())
    notes = [f"held back, not applied: {attribute(path)} ({_meaning(code)})" for path, code in held]
    return notes + [f"conflict, left alone: {attribute(path)} ({why})" for path, why in conflicts]


def _meaning(code: str) -> str:
    return f"{code}: {CODES[code].meaning}" if code in CODES else code


def _record_suspicions(call: ToolCall, output: ToolOutput, session: Session) -> None:
    """§1: what hides or sounds like an order is noted. It decides nothing."""
    if output.origin in (Origin.HARNESS, Origin.USER):
        return
    found = everything_found(session.redactor.redact(output.text))[:SUSPICIONS_LOGGED]
    if found:
        notes = [{**one._asdict(), "shown": one.shown[:200]} for one in found]
        session.audit.log("suspected_injection", tool=call.name, tool_call_id=call.id, findings=notes)


def record_result(
    call: ToolCall,
    decision: Decision,
    output: ToolOutput,
    applied: Applied,
    content: str,
    session: Session,
) -> ToolResult:
    """Step 9. What was read is remembered with its origin, then the result is put on record."""
    session.provenance.note_result(call, output.text, output.origin)
    session.provenance.note_private(session.redactor.placeholders.values())
    _record_suspicions(call, output, session)
    broken = output.status in (Status.BROKEN, Status.TIMEOUT, Status.ABORTED)
    if output.status is Status.TIMEOUT:
        session.audit.log("tool_timeout", tool=call.name, timeout_s=deadline_s(call, session))
    drift = drift_of(decision)
    session.audit.log_tool_result(
        call.id,
        call.name,
        loose_args(call),
        decision.allowed,
        session.redactor.redact(output.text),
        permission_reason=f"{decision.code}: {decision.reason}",
        container_error=broken,
        container_reason=output.text if broken else "",
        intent_drift=bool(drift),
        intent_reason=drift,
        status=str(output.status),
        exit_code=output.exit_code,
        applied=applied.changed,
        held_back=applied.held,
        conflicts=applied.conflicts,
    )
    result = ToolResult(call, decision, content, output.status, output.exit_code)
    session.listener.notice("tool_end", result=result, output=output, applied=applied)
    return result
