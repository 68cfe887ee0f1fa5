"""The result object of CONTRACTS §4."""

from __future__ import annotations

import json
from typing import Any

from agent_security.calls import ToolCall
from agent_security.decision import Decision, Kind, Verdict
from agent_security.frontends.exits import Exit
from agent_security.frontends.printer import json_line
from agent_security.frontends.result import failed_start, result_object, scrubbed_with
from agent_security.loop.turn import TurnOutcome

TYPES: dict[str, type] = {
    "type": str,
    "subtype": str,
    "is_error": bool,
    "retryable": bool,
    "result": str,
    "session_id": str,
    "num_turns": int,
    "tool_calls": int,
    "questions": int,
    "duration_ms": int,
    "total_cost_usd": float,
    "usage": dict,
    "permission_denials": list,
    "files_changed": list,
    "held_back": list,
    "runs_later": list,
    "undo": str,
    "sandbox": dict,
    "audit_log": str,
}


def test_every_field_is_there_with_its_type(session: Any) -> None:
    found = result_object(TurnOutcome("success", "done", requests=2), session, duration_ms=5, audit_log="/l")
    assert {name: type(value) for name, value in found.items()} == TYPES
    assert found["usage"].keys() == {"input_tokens", "output_tokens", "estimated"}
    assert found["sandbox"]["guarantees"] == {
        "fs": True, "net": True, "env": True, "kill": True, "limits": False, "view": True,
    }  # fmt: skip
    assert (found["undo"], found["num_turns"], found["is_error"]) == ("full", 2, False)


def test_a_run_without_a_session_prints_the_same_fields() -> None:
    found = failed_start("error_sandbox", Exit.SANDBOX, "no sandbox")
    assert list(found) == list(TYPES)
    assert found["is_error"]
    assert found["result"] == "no sandbox"


def test_a_refusal_stands_in_permission_denials_and_is_no_failure(session: Any) -> None:
    refused = Decision(Verdict.DENY, Kind.NONE, "policy", "shell_denied", "curl is blocked")
    session.tally.denials.append((ToolCall("c1", "run_bash", '{"command": "curl hunter2"}'), refused))
    found = result_object(TurnOutcome("success", "done"), session, duration_ms=0, audit_log="/l")
    assert found["permission_denials"] == [
        {
            "tool_name": "run_bash",
            "tool_use_id": "c1",
            "tool_input": {"command": "curl [redacted]"},
            "gate": "policy",
            "code": "shell_denied",
            "kind": "",
            "reason": "curl is blocked",
        }
    ]
    assert found["is_error"] is False


def test_a_ci_command_inside_the_json_is_broken_without_changing_its_meaning() -> None:
    found = {"result": "##vso[task.setvariable]x ###[error] \\##"}
    line = json_line(found, in_ci=True)
    assert "##" not in line
    assert json.loads(line) == found


def test_a_secret_that_a_model_writes_as_a_key_is_redacted_too() -> None:
    shown = scrubbed_with(lambda text: text.replace("hush", "[gone]"), {"tool_input": {"hush": ["hush", 1]}})
    assert "hush" not in json.dumps(shown)
