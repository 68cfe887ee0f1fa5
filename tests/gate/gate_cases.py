"""Shared by the tests of the gate: cases read from tests/cases, and one call judged without a session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agent_security.calls import ToolCall
from agent_security.decision import Decision, Verdict
from agent_security.gates import judge_call
from agent_security.judging import judge_context_for

CASES = Path(__file__).resolve().parents[1] / "cases"

ORDINARY = frozenset({"ask_write", "ask_execute", "unnamed_host"})
"""Questions that the mode puts about any such call: no objection to this one."""


def load(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def judged(tool: str, args: Any, cwd: str | Path, **context: Any) -> Decision:
    call = ToolCall("case", tool, json.dumps(args))
    return judge_call(call, judge_context_for(str(cwd), **context))


def word(decision: Decision) -> str:
    """The cases' words: block, confirm, or allow where nothing but the mode's own question remains."""
    if decision.verdict is Verdict.DENY:
        return "block"
    return "confirm" if any(q.code not in ORDINARY for q in decision.questions) else "allow"
