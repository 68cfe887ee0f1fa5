"""The spine: every tool call of every front end goes through `run_tool_call`.

Invariants, each held by a test:
- nothing runs without a Permit, and Permits are made here and nowhere else;
- the decision is on record before anything runs, the change set before anything is applied;
- a gate that raises refuses, an unknown answer refuses, nobody to ask refuses;
- an edited call is a new call and is judged from the start.
"""

from __future__ import annotations

from dataclasses import replace

from agent_security import steps
from agent_security.calls import Permit, Status, ToolCall, ToolOutput, ToolResult
from agent_security.decision import Decision, Verdict, allow
from agent_security.errors import Aborted, SandboxError, SandboxTimeout
from agent_security.gates import judge_call
from agent_security.session import Session


def decide(call: ToolCall, session: Session) -> Decision:
    """Ask the gates in order, stop at the first DENY; the strictest answer stands. No effect."""
    return judge_call(call, session.judge_context())


def run_tool_call(call: ToolCall, session: Session) -> ToolResult:
    """Take one call down the road. The numbers are DESIGN §2's. Raises AuditError alone."""
    # 1 stop if due (abort, caps)
    halt = steps.stop_if_due(session)
    # 2 decide, without any effect
    decision = decide(call, session) if halt is None else halt
    # 3 ask the approver; nobody to ask = no; an edited call is decided again
    while decision.verdict is Verdict.ASK:
        decision, edited = steps.ask_person(call, decision, session)
        if edited is not None:
            call = replace(call, args_json=edited)
            decision = decide(call, session)
    # 4 audit the decision: what cannot be written does not run
    steps.record_decision(call, decision, session)
    # 5 run behind the wall, on a copy-on-write view, with a Permit and a deadline
    output = _run(call, decision, session)
    # 6 judge the change set by its effect, ask where needed, audit it
    held = steps.judge_changes(call, decision, output.changes, session)
    # 7 apply it: the only way into the workspace
    applied, output = steps.apply_changes(call, output, held, session)
    # 8 redact, then cap, then mark by origin, then wrap
    content = steps.present(call, output, applied, session)
    # 9 note provenance and counters, audit the result
    return steps.record_result(call, decision, output, applied, content, session)


def _run(call: ToolCall, decision: Decision, session: Session) -> ToolOutput:
    """Step 5. A wall that breaks is an answer, never a reason to run without it."""
    if not decision.allowed:
        return ToolOutput(f"refused by {decision.gate}: {decision.code}: {decision.reason}", Status.REFUSED)
    tool = session.tools[call.name]
    session.listener.notice("tool_start", call=call, decision=decision)
    try:
        return tool.runner(permit(call, decision, session), session, steps.deadline_s(call, session))
    except SandboxTimeout as error:
        return ToolOutput(str(error), Status.TIMEOUT)
    except Aborted as error:
        return ToolOutput(str(error), Status.ABORTED)
    except SandboxError as error:
        return ToolOutput(str(error), Status.BROKEN)
    except Exception as error:  # whatever broke in a runner, nothing of it is applied
        return ToolOutput(f"the tool broke ({type(error).__name__})", Status.BROKEN)


def permit(call: ToolCall, decision: Decision, session: Session) -> Permit:
    """The right to run one decided call once. Raises ValueError without an ALLOW."""
    return Permit(call, decision, session.tools[call.name].ran_on)


def permit_for_person(call: ToolCall, session: Session) -> Permit:
    """For a command the person typed themselves (`sandbox exec`): no gate, the same wall, audited."""
    return _permit_without_gates(call, allow("person", "approved", "typed by the person"), session)


def permit_for_harness(call: ToolCall, session: Session) -> Permit:
    """For the harness's own runs inside the wall (self-checks, snapshots), audited."""
    return _permit_without_gates(call, allow("harness", "ok", "the harness's own call"), session)


def _permit_without_gates(call: ToolCall, decision: Decision, session: Session) -> Permit:
    steps.record_decision(call, decision, session)
    return Permit(call, decision, "sandbox")
